"""Words, names and places that the generators draw from.

The vocabulary is made here: common English stems under a few prefixes and suffixes, 17,000 in all, as many as
XMark's documents use. As there, the frequency of a word falls exponentially with its rank (a word of rank r
comes with probability proportional to exp(−5r/17000)), short words first. ``gold``, which XMark's query 14
looks for, has its rank there.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Final

SIZE: Final = 17_000
"""Words in the vocabulary."""


def _spaced(names: str) -> tuple[str, ...]:
    """Names, parted by blanks; a _ within one stands for a blank."""
    return tuple(name.replace("_", " ") for name in names.split())


_STEMS: Final = _spaced("""
act age aim air ale ant arc ark arm art ash ask axe back bake ball band bank bark barn beam bean bear beat
bell belt bend bill bind bird bite blade blow blue board boat bolt bone book boot born bowl branch brand
brass brave bread break breath brick bridge bright bring broad brook brown brush build burn call calm camp
card care cart carve cast catch chain chair chalk charm chart chase cheer chest chill church claim clap
class clay clean clear climb cloak clock cloth cloud coal coast coat coil cold comb cook cool copper coral
cork corn count court cover craft crane cream creek crisp crop cross crowd crown dance dark dart dash dawn
day deal deep deer desk dew dip dive dock door dove draft draw dream dress drift drill drink drop drum duck
dust dwell eagle ear early earth ease east edge elm ember face fact fade fair faith fall farm fast father
feast feather fence fern field fig file fill find fine fire firm fish flag flame flash flat fleet flint
float flock flood floor flow flute fly foam fold follow foot ford forest fork form fort fox frame free fresh
frost fruit garden gate gather ghost gift glad glass gleam glide glove glow grain grand grape grass gravel
gray green grind ground grove grow guard guest guide gull hail hall hammer hand harbor hard harp harvest
haste hawk hay hazel head heart heat heath hedge help herd hill hold hollow honest honey hook horn horse
host hour house hunt ice inch ink iron island ivory jar jewel join judge jump keel keen keep kind king kite
knee knight knot lace ladder lake lamb lamp land lane lantern large lark last laugh leaf lean learn leather
ledge lend letter level lift light lily limb lime line linen lion list load loaf lock loft long loom loud
maple march mark marsh mast master meadow measure melt mend mild mill mind mint mirror mist moon moor moss
mother mountain mouse music nail name narrow neat nest night noble north note oak oar oat ocean olive open
orchard order otter owl paint pale palm pan paper park pass path pause pearl pebble pen pepper pine pipe
plain plan plank plant plate play plow plum point pole pond poplar port post pound praise press print proud
pull pure quick quiet quill rabbit rain raise rake range rare raven reach read reed rest ribbon rice ride
ridge ring ripe river road roast rock roof room root rope rose rough round row ruby rush saddle safe sage
sail salt sand scale school score sea seal season seed serve shade shadow shape share sharp sheep shell
shelter shield shine ship shore short silk silver sing sister sky slate sleep slope slow small smith smoke
smooth snow soap soft soil song sound south spark speak spear spice spin spring square stable staff stage
stair star start steel steep stem stern stick still stone store storm story straw stream street strong
summer sun swan sweet swift swim table tale tall tame tea tent thorn thread thunder tide tile timber tin
toil tool top torch tower town track trade trail train travel tree trim trumpet trust tune turn twig vale
valley vane velvet vine violet voice wade wagon walk wall walnut wander warm wash watch water wave wax weave
west wheat wheel whistle white wide wild willow wind window wine wing winter wise wolf wonder wood wool word
work wreath write yard year yield young
""")

_PREFIXES: Final = ("", "re", "un", "out", "over", "fore")
_SUFFIXES: Final = ("", "s", "ed", "ing", "er", "y", "en", "ish", "less", "ful", "ward")
_PLACED: Final = {329: "gold", 1162: "golden"}


def _joined(prefix: str, stem: str, suffix: str) -> str:
    if suffix[:1] in ("e", "i", "y") and stem.endswith("e"):
        stem = stem[:-1]
    elif suffix[:1] in ("e", "i") and stem.endswith("y"):
        stem = stem[:-1] + "i" if suffix[0] == "e" else stem
    elif suffix == "s" and stem.endswith(("s", "sh", "ch", "x")):
        suffix = "es"
    return prefix + stem + suffix


@cache
def vocabulary() -> tuple[str, ...]:
    """The words by rank, the most frequent first."""
    made = {_joined(prefix, stem, suffix) for stem in _STEMS for prefix in _PREFIXES for suffix in _SUFFIXES}
    # Short words first, but loosely: a word's checksum moves it by up to some letters.
    ranked = sorted(made, key=lambda word: (len(word) + zlib.crc32(word.encode()) % 997 / 300, word))
    for rank, word in _PLACED.items():
        ranked.insert(rank, word)
    return tuple(ranked[:SIZE])


GIVEN: Final = _spaced("""
Abel Ada Adil Agnes Aiko Akira Alba Aldo Alexei Alice Amara Amina Anders Andrea Anika Anton Arjun Arlene
Arturo Asha Astrid Aurelio Barbara Basil Beatriz Benedikt Bettina Bjorn Boris Bruno Camila Carlos Carmen
Cecilia Chandra Chiara Clara Claude Conrad Dagmar Dalia Daniela Dario David Deepa Denis Diego Dimitri
Dolores Dominic Edith Eduardo Eero Elena Elias Elke Emil Emma Enrique Erika Ernesto Esther Etienne Eugenia
Fabian Farid Fatima Felix Fiona Florian Francesca Frank Freya Gabriel Galina Georg Gerda Gianni Gloria Greta
Guillermo Gustav Hamid Hannah Haruto Hassan Heidi Helena Henrik Hideo Hilda Hiroko Hugo Ibrahim Ida Ignacio
Ilse Imran Ines Ingrid Irene Isabel Ivan Jacob Jamal Janina Jasmine Javier Jelena Jens Joachim Johanna John
Jorge Judith Julia Jurgen Kamil Karim Karin Katarina Kenji Kirsten Klara Konstantin Lars Laszlo Laura Leila
Leonardo Lidia Linnea Lorenzo Lotte Lucia Ludmila Luis Magda Mahmoud Manuel Marcel Margit Maria Marko Marta
Martin Mateo Matthias Maya Mehmet Mei Michel Miguel Mikhail Milan Minh Miriam Mohan Monica Nadia Naomi
Natalia Nils Nina Noel Nora Olga Oliver Omar Oscar Otto Pablo Pascal Patricia Paula Pedro Pekka Petra
Philippe Pia Piotr Priya Rachel Rafael Ramon Ravi Rebecca Ricardo Rita Robert Rolf Rosa Ruben Ruth Sabine
Sadia Samir Sandra Sanjay Sara Sergei Silvia Simon Sofia Sonja Stefan Sunita Susanne Sven Tamara Tariq
Tatiana Teresa Thomas Tobias Tomas Ulrike Umberto Ursula Valentina Vera Victor Vikram Viola Vladimir Walter
Wei Wilma Xavier Yasmin Yuki Yusuf Zoltan
""")

_HEADS: Final = _spaced("""
Ab Al Am An Ar As Bal Ban Bar Bel Ber Bor Bra Bren Bur Cal Can Car Cas Cor Cra Dal Dan Del Dor Dra Dun El En
Er Fal Fen Fer Fin Gal Gar Gil Gor Gra Hal Han Har Hel Her Hol Ir Is Jan Jar Jor Kal Kan Kar Kel Kor Lan Lar
Len Lin Lor Mal Man Mar Mel Mer Mil Mor Nar Nel Nor Ol Or Os Pal Par Pel Per Pol Ran Ras Rol Ros San Sar Sel
Ser Sol Sor Tal Tan Tar Tor Tra Val Van Var Vel Ver Vol Wal War Wen Wil Yar Zan Zel
""")
_TAILS: Final = _spaced("""
aby adian aga ak ander ano ard aris aro asen aski avic bach baum berg berger bert burg by dale den der din
do dorf eck eda elli elman en ero escu etti feld fer field ford gan ger ghi go hagen ham hart holm horn ico
idis in ino iya kamp ke ker kin ko land ler ley lin lund man mann mer mons nen ner ney nov ola ona oni ova
ovic rell rich rio ro sen ser shi sky sley son stad stein stone strom ta ter thal ton tova ulis va vale vick
ville wald well wick witz wood worth ya yama zano zen
""")


@cache
def surnames() -> tuple[str, ...]:
    """Family names, some ten thousand; the first is Smith, whom the papers' queries ask for."""
    return ("Smith", *(head + tail for head in _HEADS for tail in _TAILS))


CITIES: Final = _spaced("""
Abidjan Accra Adelaide Albany Algiers Amman Ankara Antwerp Athens Atlanta Auckland Austin Baku Baltimore
Barcelona Basel Beirut Belfast Bergen Berlin Bern Bilbao Bogota Bologna Boston Brest Brisbane Bristol
Brussels Bucharest Budapest Cairo Calgary Cardiff Casablanca Chicago Cologne Copenhagen Cork Dakar Dallas
Delhi Denver Detroit Dresden Dublin Durban Edinburgh Florence Frankfurt Geneva Genoa Ghent Glasgow Graz
Hamburg Hanoi Havana Helsinki Houston Istanbul Izmir Jakarta Kiel Kyoto Lagos Leeds Leipzig Lille Lima
Lisbon Liverpool London Lyon Madison Madrid Malmo Manchester Manila Marseille Melbourne Memphis Miami Milan
Minsk Montreal Munich Nairobi Nantes Naples Nashville Nice Osaka Oslo Ottawa Oxford Palermo Paris Perth
Phoenix Porto Prague Quebec Quito Reno Riga Rome Rotterdam Salzburg Santiago Seattle Seoul Seville Sofia
Stockholm Sydney Tallinn Tampa Tokyo Toronto Toulouse Trieste Tucson Tunis Turin Utrecht Valencia Vancouver
Venice Vienna Vilnius Warsaw York Zagreb Zurich
""")

STATES: Final = _spaced(
    """
Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii Idaho
Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi
Missouri Montana Nebraska Nevada New_Hampshire New_Jersey New_Mexico New_York North_Carolina North_Dakota
Ohio Oklahoma Oregon Pennsylvania Rhode_Island South_Carolina South_Dakota Tennessee Texas Utah Vermont
Virginia Washington West_Virginia Wisconsin Wyoming
"""
)

COUNTRIES: Final = _spaced(
    """
Afghanistan Albania Algeria American_Samoa Andorra Angola Anguilla Antarctica Antigua Argentina Armenia
Aruba Australia Austria Azerbaijan Bahamas Bahrain Bangladesh Barbados Belarus Belgium Belize Benin Bermuda
Bhutan Bolivia Bosnia_and_Herzegovina Botswana Bouvet_Island Brazil Brunei Bulgaria Burkina_Faso Burundi
Cambodia Cameroon Canada Cape_Verde Cayman_Islands Central_African_Republic Chad Chile China
Christmas_Island Cocos_Islands Colombia Comoros Congo Cook_Islands Costa_Rica Croatia Cuba Cyprus
Czech_Republic Denmark Djibouti Dominica Dominican_Republic East_Timor Ecuador Egypt El_Salvador
Equatorial_Guinea Eritrea Estonia Ethiopia Falkland_Islands Faroe_Islands Fiji Finland France French_Guiana
French_Polynesia Gabon Gambia Georgia Germany Ghana Gibraltar Greece Greenland Grenada Guadeloupe Guam
Guatemala Guinea Guinea-Bissau Guyana Haiti Honduras Hong_Kong Hungary Iceland India Indonesia Iran Iraq
Ireland Israel Italy Ivory_Coast Jamaica Japan Jordan Kazakhstan Kenya Kiribati Kuwait Kyrgyzstan Laos
Latvia Lebanon Lesotho Liberia Libya Liechtenstein Lithuania Luxembourg Macau Macedonia Madagascar Malawi
Malaysia Maldives Mali Malta Marshall_Islands Martinique Mauritania Mauritius Mayotte Mexico Micronesia
Moldova Monaco Mongolia Montserrat Morocco Mozambique Myanmar Namibia Nauru Nepal Netherlands
Netherlands_Antilles New_Caledonia New_Zealand Nicaragua Niger Nigeria Niue Norfolk_Island North_Korea
Northern_Mariana_Islands Norway Oman Pakistan Palau Panama Papua_New_Guinea Paraguay Peru Philippines
Pitcairn Poland Portugal Puerto_Rico Qatar Reunion Romania Russia Rwanda Saint_Helena Saint_Kitts_and_Nevis
Saint_Lucia Saint_Pierre_and_Miquelon Saint_Vincent Samoa San_Marino Sao_Tome_and_Principe Saudi_Arabia
Senegal Seychelles Sierra_Leone Singapore Slovakia Slovenia Solomon_Islands Somalia South_Africa
South_Georgia South_Korea Spain Sri_Lanka Sudan Suriname Svalbard Swaziland Sweden Switzerland Syria Taiwan
Tajikistan Tanzania Thailand Togo Tokelau Tonga Trinidad_and_Tobago Tunisia Turkey Turkmenistan
Turks_and_Caicos_Islands Tuvalu Uganda Ukraine United_Arab_Emirates United_Kingdom Uruguay Uzbekistan
Vanuatu Vatican_City Venezuela Vietnam Virgin_Islands Wallis_and_Futuna Western_Sahara Yemen Yugoslavia
Zambia Zimbabwe
"""
)
"""Every country but the United States, which XMark gives three quarters of all addresses."""

HOSTS: Final = _spaced("""
acme.test ardent.test atlas.test auric.test beacon.test birch.test blue.test cedar.test cobalt.test
comet.test delta.test ember.test falcon.test gamma.test harbor.test helix.test ivory.test juno.test
karst.test lumen.test lyra.test maple.test mesa.test nimbus.test nova.test opal.test orion.test pico.test
polar.test quartz.test raven.test sierra.test solar.test sumac.test terra.test umber.test vela.test
willow.test zenith.test zinc.test
""")
"""Hosts that exist nowhere (RFC 2606)."""
