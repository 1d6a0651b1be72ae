"""Pictures that show how data flows, one module a chapter, all drawn with `hand`."""
