// What the theme leaves to be done for readers with a keyboard or a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  // The name of a search button is what stands on it, if anything does.
  for (const button of document.querySelectorAll(".search-button-field[aria-label]"))
    if (button.innerText.trim()) button.removeAttribute("aria-label");
  // A picture of the gallery hides the text of its link.
  for (const card of document.querySelectorAll(".sphx-glr-thumbcontainer")) {
    const link = card.querySelector("a.internal"), title = card.querySelector(".sphx-glr-thumbnail-title");
    if (link && title) link.setAttribute("aria-label", title.textContent.trim());
  }
  // The empty corner of a table is no heading.
  for (const corner of document.querySelectorAll(".bd-article th"))
    if (!corner.textContent.trim()) corner.replaceWith(Object.assign(document.createElement("td"), { className: corner.className }));
  // Tables and listings that scroll can be reached by the keyboard.
  const focusable = () => {
    for (const part of document.querySelectorAll(".bd-article table, .bd-article pre, .pst-scrollable-table-container"))
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  };
  focusable();
  window.addEventListener("resize", focusable);
});
