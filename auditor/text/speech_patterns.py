"""Patterns of wording by which a sentence does something other than claim.

All but the two code patterns are matched against case-folded text. Every repetition is bounded, so
that a sentence of any length costs time linear in its length.
"""

import re

MARKUP = re.compile(r"\*\*|__|(?<![A-Za-z0-9])[*_](?=\S)|(?<=\S)[*_](?![A-Za-z0-9])")
LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")

OPENER = re.compile(
    r"(?:(?:yes|no|sure|okay|ok|great|perfect|alright|all right|certainly|of course|absolutely|"
    r"well|now|next|first|second|third|then|finally|lastly|also|so|and|but|additionally|"
    r"in addition|"
    r"after that|instead|alternatively|therefore|with that|(?:great|good) (?:news|question)|"
    r"(?:in order to|to|before|after) [^,.;:]{3,80}(?=,))\b ?[,!.:;-]{0,2} {1,3}){1,4}"
)
"""Words before what the sentence is about: "Great, now", "To fix this,"."""

_WILL = r"(?:'ll| will| am going to|'m going to| are going to|'re going to)"
INTENTION = re.compile(
    rf"(?:let me|let us|let's|let 's|(?:i|we){_WILL}(?: now| then| first| also| next| just)?|"
    r"(?:i|we) (?:should|need to|have to|must|want to|would like to|plan to|can try|could try)|"
    r"(?:i|we)'d like to|i(?: am|'m) (?:now |just )?(?:going to|about to|trying to|checking|"
    r"looking|searching)|(?:the|our|my) next step|one moment|just a moment|please wait|hold on|"
    r"give me a)\b"
)
OFFER = re.compile(
    r"(?:i(?:'d| would| will|'ll| am|'m)(?: be)? (?:happy|glad|here|able) to|"
    r"i can (?:then |now |also |certainly |definitely |gladly )?"
    r"(?:help|assist|proceed|look|guide|"
    r"connect|transfer|check|search|process|provide|try|go ahead|walk you)|"
    r"(?:please )?(?:feel free|don't hesitate|do not hesitate|just let me know|let me know)|"
    r"how (?:can|may) i|"
    r"if (?:you (?:need|have|would like|want|'d like|wish)|there(?:'s| is) anything|"
    r"you(?:'d| would) (?:like|prefer)|you(?:'re| are) (?:looking|interested)|"
    r"anything)\b.{0,200}?\b"
    r"(?:let me know|feel free|i can|i'll|i will|don't hesitate|happy to|here to|just (?:ask|say)))"
)
ADVICE = re.compile(
    r"(?:if |once |should you ).{0,200}?(?:feel free|reach out|i can |i'll |i will |please|"
    r"i(?:'d)? (?:recommend|suggest)|you (?:may|might) (?:need|want) to|let me know)|"
    r"(?:i|we)(?:'d| would)? (?:recommend|suggest|advise)\b|"
    r"you (?:may|might|should) (?:need to |want to |also |wish to )?"
    r"(?:contact|reach out|check|visit|try|consider)\b|"
    r"it(?:'s| is| would be|'d be) (?:also )?(?:a good idea|prudent|best|better|useful|helpful|"
    r"wise|"
    r"worth)\b"
)
THANKS = re.compile(r"(?:many )?(?:thank you|thanks)\b(?! to\b)")
GREETING = re.compile(
    r"(?:hi|hello|hey|dear|greetings|welcome|good (?:morning|afternoon|evening|day)|goodbye|bye|"
    r"you(?:'re| are) (?:very |most )?welcome)\b"
)
COURTESY = re.compile(
    r"(?:i(?:'m| am)? ?(?:so |very |really |truly |sincerely )?(?:sorry|apologi[sz]e)|apologies|"
    r"my apologies|sorry|i (?:completely |fully |totally )?(?:understand|appreciate|hear)\b|"
    r"have a |enjoy |safe travels|take care|no (?:worries|problem)|my pleasure|i hope\b|"
    r"we (?:apologi[sz]e|appreciate)|glad (?:to|i)|looking forward|happy to|i'm glad|"
    r"congratulations|wishing you|nice to|pleased to|sounds (?:good|great)|got it|"
    r"(?:that's|it's) (?:great|no problem)$)"
)
INSTRUCTION = re.compile(
    r"(?:please (?!note\b|be aware\b|remember that\b)|kindly |do not |don't |make sure|be sure|"
    r"ensure |consider |try |i(?:'ll| will| would|'d)? (?:just |also )?need "
    r"(?:your|the|to know|a few|some|more)\b|"
    r"(?:once|if|when|after) (?:you|we|everything|that)\b.{1,200}?\bplease )"
)
REQUEST_ANYWHERE = re.compile(
    r"\b(?:could|can|would) you (?:please|kindly)\b|"
    r"\bplease (?:confirm|provide|let me know|choose|select|specify|share|tell me|reply|respond)\b"
)
_VERB = (
    "add|adjust|apply|ask|avoid|build|call|change|check|choose|click|clone|compare|compile|"
    "configure|confirm|contact|copy|create|define|delete|download|edit|enter|examine|execute|"
    "explain|find|fix|"
    "follow|get|give|go|implement|import|include|increase|inspect|install|keep|list|load|locate|"
    "look|"
    "modify|move|navigate|open|pick|press|print|provide|put|read|rebuild|refer|reload|remove|"
    "rename|"
    "replace|reply|restart|return|review|run|save|search|select|send|set|show|start|stop|submit|"
    "switch|take|tell|test|turn|type|update|upgrade|use|verify|view|visit|wait|write"
)
IMPERATIVE = re.compile(
    rf"(?:{_VERB}) (?:(?:the|a|an|any|all|each|every|your|my|our|this|that|these|those|it|them|"
    r"me|us|"
    r"for|to|in|on|at|up|out|into|from|with|by|if|whether|how|what|which|again|through|one|two|"
    r"both|"
    r"only)\b|[`'\"$/])"
)
CLAIM_OPENER = re.compile(
    r"(?:please )?(?:note|be aware|remember|keep in mind) that\b|please note\b"
)
"""Wording of a request that introduces a claim all the same."""

BECAUSE = re.compile(r"\b(?:because|since (?:the|it|this|there|your|we|i)\b)")
DID_YOU_KNOW = re.compile(r"did you (?:also )?know\b")
# ASCII, full-width and Arabic question marks, then closing quotes, emphasis or emoji.
QUESTION_END = re.compile(
    r"[?\uff1f\u061f][\s\"'\u201d\u2019)*_`!?.\u2026\U0001f000-\U0001faff]{0,40}\Z"
)
COLON_END = re.compile(r"[:\uff1a]\Z")
LEADS_IN = re.compile(r"\b(?:here|follow(?:s|ing)?|below|these|options?|such as|including)\b")
FINITE_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|will|can|cannot|must|costs?|shows?|means|"
    r"failed|fails)\b"
)

CODE_LINE = re.compile(
    r"(?:\$ |>>> |#!|//|/\*|</?[a-z][\w-]{0,40}[ />]|@\w{1,60}(?:\.\w{1,60}){0,5}(?:\(|$)|"
    r"(?:async )?def \w{1,80}\(|class \w{1,80}[(:]|"
    r"(?:from [\w.]{1,80} )?import [\w.]{1,80}(?:,| as|$)|"
    r"(?:if|for|while|elif|else|try|except|with)\b[^.]{0,200}[)\]\w\"']:$|"
    r"[\w.\[\]\"']{1,80} [+*/-]?= \S|[\w.]{1,80}\([^()]{0,200}\);?$|"
    r"return\b.{0,100}[;)\]]$|[}\])]{1,9}[;,]?$|"
    r"(?:ls|cd|cat|grep|pip|python3?|git|curl|sudo|npm|make|docker|chmod|mkdir|rm|echo|export) "
    r"(?:-\w|[./~'\"$]|\w{1,80}[./]\w|install |run |commit |clone |push |pull |status|build ))"
)
ONLY_CODE = re.compile(r"`[^`\n]{1,500}`[.:;]?\Z")
