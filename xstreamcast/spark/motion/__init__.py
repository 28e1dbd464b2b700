"""Streams: sources, stateful operators over the embedded engine, and sinks."""
