"""PROVING: the papers' protocols, tables and figures, and what became of their claims."""
