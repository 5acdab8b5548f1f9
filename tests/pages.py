"""Reading a report back."""

import json
import re
from typing import Any


def page_data(html: str) -> dict[str, Any]:
    """The values that a page shows."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found)
