"""Stored documents: cut anywhere, scanned in ranges, put together by Spark's own operators."""
