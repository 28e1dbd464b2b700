(: Articles revised since 2025, by journal. :)
for $a in stream("pubmed")//PubmedArticle
where $a/MedlineCitation/DateRevised/Year >= 2025
group by $journal := string($a//Journal/Title)
order by $journal
return <journal articles="{count($a)}">{$journal}</journal>
