"""Small documents and queries that join, group and sort them in every way that Spark is asked to."""

from __future__ import annotations

from random import Random

KEYS = ("1", "2", "3", "1.0", "01", "x", "", " 2", "é")


def document(seed: int) -> str:
    """A list of ``a`` with keys x and ``b`` with keys y, some within each other; every third has keys that are odd."""
    random = Random(seed)
    keys = KEYS if seed % 3 == 2 else KEYS[:3]

    def element(depth: int) -> str:
        name, key, number = random.choice((("a", "x", "n"), ("b", "y", "m")))
        inside = "".join(f"<{key}>{random.choice(keys)}</{key}>" for _ in range(random.choice((0, 1, 1, 2))))
        inside += "".join(f"<v>{random.randint(1, 4)}</v>" for _ in range(random.choice((0, 1, 1, 2))))
        if depth < 2 and random.random() < 0.15:
            inside += element(depth + 1)
        attribute = "" if random.random() < 0.1 else f' {number}="{random.randint(1, 4)}"'
        return f"<{name}{attribute}>{inside}</{name}>"

    return f"<r>{''.join(element(0) for _ in range(random.randint(0, 14)))}</r>"


JOINS = (
    'for $a in //a, $b in //b where $a/x = $b/y return <p n="{$a/@n}" m="{$b/@m}">{ $b/v }</p>',
    "for $a in //a, $b in //b where $a/x = $b/y and $b/v > $a/v return <p>{ $a/x, $b/v }</p>",
    "for $a in //a, $b in //b where $a/x = $b/y and $a/v = $b/v return <p>{ $a/x, $b/v }</p>",
    "for $a in //a return <p>{ $a/@n, //b[y = $a/x]/v }</p>",
    'for $a in //a return <p n="{$a/@n}">{ count(//b[y = $a/x]), avg(//b[y = $a/x]/v) }</p>',
    "for $a in //a let $s := sum(//b[y = $a/x]/v) where $s > 2 return <s>{ $s }</s>",
    "for $a in //a where some $b in //b satisfies $b/y = $a/x and $b/v > $a/v return $a",
    "for $a in //a where not(//b[y = $a/x]) return string($a/@n)",
    "for $a in //a return if ($a/v > 2) then //b[y = $a/x]/v else count(//b[@m = $a/@n])",
    "for $a in //a for $b in //b[y = $a/x] for $c in //a[v = $b/v] return <t>{ $a/@n, $c/v }</t>",
    'for $a in //a[x = "2"], $b in //b where $b/@m eq $a/@n return ($a/x, $b/y)',
    "for $a in //a return <w>{ for $b in //b where $b/y = $a/x order by $b/@m descending return $b/v }</w>",
    "for $a in //a let $p := //b[y = $a/x] let $q := //b[@m = $a/@n] return <p>{ $p/v, $q/v, $p/y }</p>",
    "count(for $a in //a, $b in //b where $a/x = $b/y return 1)",
    "//a[x = //b/y]/v",
    "for $a in //a, $b in //b where string($a/x[1]) = $b/y return <p>{ $a/x, $b/y }</p>",
    "for $a in //a, $b in //b where xs:decimal($a/@n) = $b/v/xs:integer(.) return <p>{ $a/x, $b/y }</p>",
    "for $a in //a, $b in //b where number($a/@n) = $b/count(v) return <p>{ $a/x, $b/y }</p>",
)
"""Whose rows meet by key."""
BROADCAST = (
    "for $a in //a, $b in //b where $a/x < $b/y return <p>{ $a/x, $b/y }</p>",
    "for $a in //a, $b in //b where $a/x/number() = $b/y return <p>{ $a/x, $b/y }</p>",
    "for $a in //a, $b in //b where xs:integer($a/@n) = $b/v return <p>{ $a/x, $b/y }</p>",
    "for $a in //a, $b in //b where $a/x/(. = '2') = $b/y/(. = '2') return <p>{ $a/x, $b/y }</p>",
    "for $k at $i in distinct-values(//a/x) return <k n='{$i}'>{ $k, //a[x = $k]/v }</k>",
    "let $d := //b return for $a in //a return <d>{ $d[y = $a/x]/v, count($d) }</d>",
)
"""Where one side goes to all tasks."""
GROUPS = (
    "for $a in //a group by $k := string($a/@n) return <g k='{$k}'>{ count($a), sum($a/v), $a/x }</g>",
    "for $a in //a group by $k := $a/x[1] return <g k='{$k}'>{ $a/@n/string(), max($a/v) }</g>",
    "for $a in //a group by $k := string($a/@n) order by count($a) descending, $k return <g k='{$k}'>{ $a/v }</g>",
    "for $a in //a group by $k := $a/@n, $l := count($a/v) return <g>{ $k, $l, count($a/x) }</g>",
    "for $a in //a let $v := $a/v group by $k := $a/@n where count($v) > 1 return <g>{ $k, avg($v), $v }</g>",
    "for $a in //a for $b in //b where $a/x = $b/y group by $m := string($b/@m) return <p>{ count($a), $a/v }</p>",
    "for $a in //a[v] group by $k := $a/x[1] return ($k, //b[y = $k]/@m/string())",
    "for $a in //a group by $k := $a/@n order by $k return <g>{ for $e in $a order by $e/v[1] return $e/x }</g>",
    "<all n='{count(//a)}'>{ for $a in //a group by $k := $a/@n return <e k='{$k}'>{ avg($a/v) }</e> }</all>",
    "for $a in //a group by $k := $a/x return <g>{ $k }</g>",
    "for $k in distinct-values(//a/x) return <k>{ $k, count(//b[y = $k]) }</k>",
    "for $a in //a group by $k := number($a/x[1]) return <g>{ $k, count($a) }</g>",
)
SORTS = (
    "for $a in //a order by $a/x[1], $a/@n descending return <q>{ $a/@n, $a/v }</q>",
    "for $a in //a order by number($a/@n) return string($a/v[1])",
    "for $a in //a order by $a/v[1] empty greatest, $a/@n return <o>{ $a/v }</o>",
    "for $a in //a order by number($a/v[2]) descending empty least return <nan>{ $a/v }</nan>",
    "for $a in //a for $v in $a/v order by $v return <v n='{$a/@n}'>{ string($v) }</v>",
    "for $a in //a for $b in //b where $a/x = $b/y order by $b/@m, $a/@n return <p n='{$a/@n}' m='{$b/@m}'/>",
    "for $a in //a order by sum($a/v) descending let $n := $a/@n where $n > 1 return <z>{ $n }</z>",
    "<all>{ for $a in //a order by $a/@n return <e>{ $a/v }</e> }</all>",
    "(for $a in //a order by number($a/@n) descending return string($a/@n))[position() <= 3]",
    "subsequence(for $a in //a order by $a/@n return $a/v, 2, 3)",
    "for $a in //a order by xs:date(concat('2003-11-0', ($a/@n, 9)[1])) return $a/v",
    "for $a in //a order by ($a/@n, 3)[1] return string($a/@n)",
    "for $a in //a order by $a/x return string($a/@n)",
)
QUERIES = (*JOINS, *BROADCAST, *GROUPS, *SORTS)
