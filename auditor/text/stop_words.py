"""Words that carry no content of a claim, and words that negate the content word after them."""


def words_of(listing: str) -> frozenset[str]:
    """Return the words of a white-space separated listing."""
    return frozenset(listing.split())


NEGATIONS = words_of("not no never none neither nor without cannot unable nobody nothing nowhere")
"""Never dropped: "allowed" and "not allowed" are different claims."""

STOP_WORDS = words_of(
    """
    a an the this that these those such same other another each every either both all any some many
    much more most few less least several own one ones
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself
    she her hers herself it its itself they them their theirs themselves who whom whose which what
    someone somebody something anyone anybody anything everyone everybody everything
    am is are was were be been being isn aren wasn weren do does did doing done don doesn didn
    have has had having haven hasn hadn can could couldn ca may might must mustn shall shan should
    shouldn will won wo would wouldn need ought let lets get gets got gotten
    s t d ll m re ve
    and or but if then else so because since as while whereas although though unless until whether
    than when where why how whenever wherever however therefore thus hence moreover furthermore also
    too very quite rather just only even still yet already again ever once here there now
    of in on at by for with from to into onto upon over under above below between among through
    during
    before after about against across along around behind beside besides beyond near off out per
    via within toward towards up down
    yes ok okay oh well sure please indeed actually basically really simply
    etc eg ie vs e g yeah hmm
    know knew known think thought believe guess assume suspect suppose seem seems seemed appear
    appears appeared apparently find found finds locate located see sees saw seen notice noticed
    note honestly certainly definitely clearly obviously probably probable likely unlikely perhaps
    maybe possibly possible presumably unfortunately fortunately currently successfully
    retrieve retrieved looks looking looked
    """
)

NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        (
            *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
            *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
            *("nineteen", "twenty"),
        ),
        start=2,
    )
} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
}
"""Single words only; "one" is left out because it is a pronoun more often than a number."""

MONTHS = {
    name: f"{number:02d}"
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
