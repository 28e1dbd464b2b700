"""The functions of XPath and XQuery 3.1 (F&O 3.1), and their signatures.

In comes the name of a function that a query calls, with its arity; out comes an entry with its signature and its code,
which generated code calls with items that have been converted already. A file of a topic is imported when one of its
functions is asked for, so a query loads only what it calls.

Read :mod:`.registry` (the table, and how a function is declared), :mod:`.topics` (which file holds which function) and
:mod:`.context` (what a function sees of its evaluation). The topics, in the order of the specification:

* values: :mod:`.number`, :mod:`.math`, :mod:`.random`, :mod:`.string`, :mod:`.uri`, :mod:`.boolean`, :mod:`.duration`,
  :mod:`.datetime`, :mod:`.parse_ietf`, :mod:`.qname`, :mod:`.constructors` (``xs:T(…)``)
* as text: :mod:`.format_integer`, :mod:`.format_number`, :mod:`.format_datetime`
* regular expressions: :mod:`.regex`; below it :mod:`.regex_syntax` reads one into a :mod:`.regex_tree`
  (:mod:`.unicode_blocks` are names in it), :mod:`.regex_cost` tells whether Python's ``re`` is safe with it, else
  :mod:`.regex_machine` runs it; :mod:`.regex_program` chooses
* nodes and sequences: :mod:`.node`, :mod:`.sequence`, :mod:`.aggregate` and its state :mod:`.total`
* documents: :mod:`.documents`, :mod:`.parsing`, :mod:`.json`, :mod:`.json_xml`
* functions as values: :mod:`.higher_order`, :mod:`.map`, :mod:`.array`, :mod:`.evaluation`
"""
