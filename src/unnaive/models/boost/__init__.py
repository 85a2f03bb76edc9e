"""Evidence of columns and pairs of columns, learned together by boosting on coded rows."""
