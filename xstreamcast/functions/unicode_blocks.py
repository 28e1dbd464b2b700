"""The blocks of Unicode 16, by the names that regular expressions have for them: ``\\p{IsGreekandCoptic}``.

A name is that of the block without its spaces (XML Schema, part 2, appendix F.1.1). Blocks begin and end at multiples
of sixteen, so that the table has neither's last digit.
"""

from __future__ import annotations

from functools import cache
from typing import Final

_BLOCKS: Final = """
    BasicLatin:0-7 Latin-1Supplement:8-F LatinExtended-A:10-17 LatinExtended-B:18-24 IPAExtensions:25-2A
    SpacingModifierLetters:2B-2F CombiningDiacriticalMarks:30-36 GreekandCoptic:37-3F Cyrillic:40-4F
    CyrillicSupplement:50-52 Armenian:53-58 Hebrew:59-5F Arabic:60-6F Syriac:70-74 ArabicSupplement:75-77 Thaana:78-7B
    NKo:7C-7F Samaritan:80-83 Mandaic:84-85 SyriacSupplement:86-86 ArabicExtended-B:87-89 ArabicExtended-A:8A-8F
    Devanagari:90-97 Bengali:98-9F Gurmukhi:A0-A7 Gujarati:A8-AF Oriya:B0-B7 Tamil:B8-BF Telugu:C0-C7 Kannada:C8-CF
    Malayalam:D0-D7 Sinhala:D8-DF Thai:E0-E7 Lao:E8-EF Tibetan:F0-FF Myanmar:100-109 Georgian:10A-10F HangulJamo:110-11F
    Ethiopic:120-137 EthiopicSupplement:138-139 Cherokee:13A-13F UnifiedCanadianAboriginalSyllabics:140-167
    Ogham:168-169 Runic:16A-16F Tagalog:170-171 Hanunoo:172-173 Buhid:174-175 Tagbanwa:176-177 Khmer:178-17F
    Mongolian:180-18A UnifiedCanadianAboriginalSyllabicsExtended:18B-18F Limbu:190-194 TaiLe:195-197 NewTaiLue:198-19D
    KhmerSymbols:19E-19F Buginese:1A0-1A1 TaiTham:1A2-1AA CombiningDiacriticalMarksExtended:1AB-1AF Balinese:1B0-1B7
    Sundanese:1B8-1BB Batak:1BC-1BF Lepcha:1C0-1C4 OlChiki:1C5-1C7 CyrillicExtended-C:1C8-1C8 GeorgianExtended:1C9-1CB
    SundaneseSupplement:1CC-1CC VedicExtensions:1CD-1CF PhoneticExtensions:1D0-1D7 PhoneticExtensionsSupplement:1D8-1DB
    CombiningDiacriticalMarksSupplement:1DC-1DF LatinExtendedAdditional:1E0-1EF GreekExtended:1F0-1FF
    GeneralPunctuation:200-206 SuperscriptsandSubscripts:207-209 CurrencySymbols:20A-20C
    CombiningDiacriticalMarksforSymbols:20D-20F LetterlikeSymbols:210-214 NumberForms:215-218 Arrows:219-21F
    MathematicalOperators:220-22F MiscellaneousTechnical:230-23F ControlPictures:240-243
    OpticalCharacterRecognition:244-245 EnclosedAlphanumerics:246-24F BoxDrawing:250-257 BlockElements:258-259
    GeometricShapes:25A-25F MiscellaneousSymbols:260-26F Dingbats:270-27B MiscellaneousMathematicalSymbols-A:27C-27E
    SupplementalArrows-A:27F-27F BraillePatterns:280-28F SupplementalArrows-B:290-297
    MiscellaneousMathematicalSymbols-B:298-29F SupplementalMathematicalOperators:2A0-2AF
    MiscellaneousSymbolsandArrows:2B0-2BF Glagolitic:2C0-2C5 LatinExtended-C:2C6-2C7 Coptic:2C8-2CF
    GeorgianSupplement:2D0-2D2 Tifinagh:2D3-2D7 EthiopicExtended:2D8-2DD CyrillicExtended-A:2DE-2DF
    SupplementalPunctuation:2E0-2E7 CJKRadicalsSupplement:2E8-2EF KangxiRadicals:2F0-2FD
    IdeographicDescriptionCharacters:2FF-2FF CJKSymbolsandPunctuation:300-303 Hiragana:304-309 Katakana:30A-30F
    Bopomofo:310-312 HangulCompatibilityJamo:313-318 Kanbun:319-319 BopomofoExtended:31A-31B CJKStrokes:31C-31E
    KatakanaPhoneticExtensions:31F-31F EnclosedCJKLettersandMonths:320-32F CJKCompatibility:330-33F
    CJKUnifiedIdeographsExtensionA:340-4DB YijingHexagramSymbols:4DC-4DF CJKUnifiedIdeographs:4E0-9FF
    YiSyllables:A00-A48 YiRadicals:A49-A4C Lisu:A4D-A4F Vai:A50-A63 CyrillicExtended-B:A64-A69 Bamum:A6A-A6F
    ModifierToneLetters:A70-A71 LatinExtended-D:A72-A7F SylotiNagri:A80-A82 CommonIndicNumberForms:A83-A83
    Phags-pa:A84-A87 Saurashtra:A88-A8D DevanagariExtended:A8E-A8F KayahLi:A90-A92 Rejang:A93-A95
    HangulJamoExtended-A:A96-A97 Javanese:A98-A9D MyanmarExtended-B:A9E-A9F Cham:AA0-AA5 MyanmarExtended-A:AA6-AA7
    TaiViet:AA8-AAD MeeteiMayekExtensions:AAE-AAF EthiopicExtended-A:AB0-AB2 LatinExtended-E:AB3-AB6
    CherokeeSupplement:AB7-ABB MeeteiMayek:ABC-ABF HangulSyllables:AC0-D7A HangulJamoExtended-B:D7B-D7F
    HighSurrogates:D80-DB7 HighPrivateUseSurrogates:DB8-DBF LowSurrogates:DC0-DFF PrivateUseArea:E00-F8F
    CJKCompatibilityIdeographs:F90-FAF AlphabeticPresentationForms:FB0-FB4 ArabicPresentationForms-A:FB5-FDF
    VariationSelectors:FE0-FE0 VerticalForms:FE1-FE1 CombiningHalfMarks:FE2-FE2 CJKCompatibilityForms:FE3-FE4
    SmallFormVariants:FE5-FE6 ArabicPresentationForms-B:FE7-FEF HalfwidthandFullwidthForms:FF0-FFE Specials:FFF-FFF
    LinearBSyllabary:1000-1007 LinearBIdeograms:1008-100F AegeanNumbers:1010-1013 AncientGreekNumbers:1014-1018
    AncientSymbols:1019-101C PhaistosDisc:101D-101F Lycian:1028-1029 Carian:102A-102D CopticEpactNumbers:102E-102F
    OldItalic:1030-1032 Gothic:1033-1034 OldPermic:1035-1037 Ugaritic:1038-1039 OldPersian:103A-103D Deseret:1040-1044
    Shavian:1045-1047 Osmanya:1048-104A Osage:104B-104F Elbasan:1050-1052 CaucasianAlbanian:1053-1056 Vithkuqi:1057-105B
    Todhri:105C-105F LinearA:1060-1077 LatinExtended-F:1078-107B CypriotSyllabary:1080-1083 ImperialAramaic:1084-1085
    Palmyrene:1086-1087 Nabataean:1088-108A Hatran:108E-108F Phoenician:1090-1091 Lydian:1092-1093
    MeroiticHieroglyphs:1098-1099 MeroiticCursive:109A-109F Kharoshthi:10A0-10A5 OldSouthArabian:10A6-10A7
    OldNorthArabian:10A8-10A9 Manichaean:10AC-10AF Avestan:10B0-10B3 InscriptionalParthian:10B4-10B5
    InscriptionalPahlavi:10B6-10B7 PsalterPahlavi:10B8-10BA OldTurkic:10C0-10C4 OldHungarian:10C8-10CF
    HanifiRohingya:10D0-10D3 Garay:10D4-10D8 RumiNumeralSymbols:10E6-10E7 Yezidi:10E8-10EB ArabicExtended-C:10EC-10EF
    OldSogdian:10F0-10F2 Sogdian:10F3-10F6 OldUyghur:10F7-10FA Chorasmian:10FB-10FD Elymaic:10FE-10FF Brahmi:1100-1107
    Kaithi:1108-110C SoraSompeng:110D-110F Chakma:1110-1114 Mahajani:1115-1117 Sharada:1118-111D
    SinhalaArchaicNumbers:111E-111F Khojki:1120-1124 Multani:1128-112A Khudawadi:112B-112F Grantha:1130-1137
    Tulu-Tigalari:1138-113F Newa:1140-1147 Tirhuta:1148-114D Siddham:1158-115F Modi:1160-1165
    MongolianSupplement:1166-1167 Takri:1168-116C MyanmarExtended-C:116D-116F Ahom:1170-1174 Dogra:1180-1184
    WarangCiti:118A-118F DivesAkuru:1190-1195 Nandinagari:119A-119F ZanabazarSquare:11A0-11A4 Soyombo:11A5-11AA
    UnifiedCanadianAboriginalSyllabicsExtended-A:11AB-11AB PauCinHau:11AC-11AF DevanagariExtended-A:11B0-11B5
    Sunuwar:11BC-11BF Bhaiksuki:11C0-11C6 Marchen:11C7-11CB MasaramGondi:11D0-11D5 GunjalaGondi:11D6-11DA
    Makasar:11EE-11EF Kawi:11F0-11F5 LisuSupplement:11FB-11FB TamilSupplement:11FC-11FF Cuneiform:1200-123F
    CuneiformNumbersandPunctuation:1240-1247 EarlyDynasticCuneiform:1248-1254 Cypro-Minoan:12F9-12FF
    EgyptianHieroglyphs:1300-1342 EgyptianHieroglyphFormatControls:1343-1345 EgyptianHieroglyphsExtended-A:1346-143F
    AnatolianHieroglyphs:1440-1467 GurungKhema:1610-1613 BamumSupplement:1680-16A3 Mro:16A4-16A6 Tangsa:16A7-16AC
    BassaVah:16AD-16AF PahawhHmong:16B0-16B8 KiratRai:16D4-16D7 Medefaidrin:16E4-16E9 Miao:16F0-16F9
    IdeographicSymbolsandPunctuation:16FE-16FF Tangut:1700-187F TangutComponents:1880-18AF KhitanSmallScript:18B0-18CF
    TangutSupplement:18D0-18D7 KanaExtended-B:1AFF-1AFF KanaSupplement:1B00-1B0F KanaExtended-A:1B10-1B12
    SmallKanaExtension:1B13-1B16 Nushu:1B17-1B2F Duployan:1BC0-1BC9 ShorthandFormatControls:1BCA-1BCA
    SymbolsforLegacyComputingSupplement:1CC0-1CEB ZnamennyMusicalNotation:1CF0-1CFC ByzantineMusicalSymbols:1D00-1D0F
    MusicalSymbols:1D10-1D1F AncientGreekMusicalNotation:1D20-1D24 KaktovikNumerals:1D2C-1D2D MayanNumerals:1D2E-1D2F
    TaiXuanJingSymbols:1D30-1D35 CountingRodNumerals:1D36-1D37 MathematicalAlphanumericSymbols:1D40-1D7F
    SuttonSignWriting:1D80-1DAA LatinExtended-G:1DF0-1DFF GlagoliticSupplement:1E00-1E02 CyrillicExtended-D:1E03-1E08
    NyiakengPuachueHmong:1E10-1E14 Toto:1E29-1E2B Wancho:1E2C-1E2F NagMundari:1E4D-1E4F OlOnal:1E5D-1E5F
    EthiopicExtended-B:1E7E-1E7F MendeKikakui:1E80-1E8D Adlam:1E90-1E95 IndicSiyaqNumbers:1EC7-1ECB
    OttomanSiyaqNumbers:1ED0-1ED4 ArabicMathematicalAlphabeticSymbols:1EE0-1EEF MahjongTiles:1F00-1F02
    DominoTiles:1F03-1F09 PlayingCards:1F0A-1F0F EnclosedAlphanumericSupplement:1F10-1F1F
    EnclosedIdeographicSupplement:1F20-1F2F MiscellaneousSymbolsandPictographs:1F30-1F5F Emoticons:1F60-1F64
    OrnamentalDingbats:1F65-1F67 TransportandMapSymbols:1F68-1F6F AlchemicalSymbols:1F70-1F77
    GeometricShapesExtended:1F78-1F7F SupplementalArrows-C:1F80-1F8F SupplementalSymbolsandPictographs:1F90-1F9F
    ChessSymbols:1FA0-1FA6 SymbolsandPictographsExtended-A:1FA7-1FAF SymbolsforLegacyComputing:1FB0-1FBF
    CJKUnifiedIdeographsExtensionB:2000-2A6D CJKUnifiedIdeographsExtensionC:2A70-2B73
    CJKUnifiedIdeographsExtensionD:2B74-2B81 CJKUnifiedIdeographsExtensionE:2B82-2CEA
    CJKUnifiedIdeographsExtensionF:2CEB-2EBE CJKUnifiedIdeographsExtensionI:2EBF-2EE5
    CJKCompatibilityIdeographsSupplement:2F80-2FA1 CJKUnifiedIdeographsExtensionG:3000-3134
    CJKUnifiedIdeographsExtensionH:3135-323A Tags:E000-E007 VariationSelectorsSupplement:E010-E01E
    SupplementaryPrivateUseArea-A:F000-FFFF SupplementaryPrivateUseArea-B:10000-10FFF
"""
_FORMER: Final = {
    "CombiningMarksforSymbols": ("CombiningDiacriticalMarksforSymbols",),
    "CyrillicSupplementary": ("CyrillicSupplement",),
    "Greek": ("GreekandCoptic",),
    "PrivateUse": ("PrivateUseArea", "SupplementaryPrivateUseArea-A", "SupplementaryPrivateUseArea-B"),
}
"""Names that Unicode 3 had, which XML Schema keeps."""


def block(name: str) -> list[tuple[int, int]] | None:
    """The first and last codepoints of a block; None if there is none of that name.

    >>> block("BasicLatin"), block("Greek") == block("GreekandCoptic"), block("Martian")
    ([(0, 127)], True, None)
    """
    blocks = _table()
    found = [blocks[each] for each in _FORMER.get(name, (name,)) if each in blocks]
    return found or None


@cache
def _table() -> dict[str, tuple[int, int]]:
    made = {}
    for entry in _BLOCKS.split():
        name, _, places = entry.rpartition(":")
        first, _, last = places.partition("-")
        made[name] = int(first, 16) << 4, int(last, 16) << 4 | 15
    return made
