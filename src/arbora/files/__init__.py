"""Files that Arbora writes: containers of arrays and JSON, atomic replacement, and how they are recognised."""
