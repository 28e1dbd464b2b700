"""Streams on Spark: sources, stateful operators over the embedded engine, and sinks.

In come change rows from files, servers, Kafka or any streaming DataFrame; out go change rows of answers, and sinks that
equal the answer. Read in this order:

* the way in: :mod:`.continuous_query`; :mod:`.feed` (documents that bring records)
* sources: :mod:`.stream_source` with :mod:`.stream_files`, :mod:`.survey` (where a batch ends), :mod:`.walk`,
  :mod:`.position` (offsets) and :mod:`.admission` (limits); :mod:`.stream_air` (a server), :mod:`.kafka`
* rows: :mod:`.rows`, :mod:`.brought` (of a micro-batch), :mod:`.micro_batch` (what one costs)
* state: :mod:`.association` (changes on their way to it), :mod:`.job` (what is asked), :mod:`.keeper` (the operator),
  :mod:`.state` (from batch to batch), :mod:`.replica` (the engine in it), :mod:`.state_log`, :mod:`.state_base`,
  :mod:`.state_mark` (much of a log at once), :mod:`.state_columns`, :mod:`.state_told`, :mod:`.state_read`
* many buckets: :mod:`.association_spread` (for which queries), :mod:`.association_buckets`, :mod:`.root_cut`,
  :mod:`.bucket_rows`, :mod:`.gathering`
* sinks: :mod:`.sink`, :mod:`.sink_answers`, :mod:`.sink_display`, :mod:`.sink_merge` (Delta, Iceberg),
  :mod:`.stream_writer`; :mod:`.handover` (Spark Connect), :mod:`.listener` (rates)
"""
