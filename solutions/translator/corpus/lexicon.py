"""The words of the corpus: nouns, adjectives and verbs, each with its English and its Italian
forms.

The tables hold what cannot be known by rule (a gender, an irregular plural, a participle) and
*tags* that say what goes with what: soup is `food`, so it can be hot and it can be eaten.
Everything regular is computed. One English word has one Italian word: where English leaves a
person's sex open ("friend", "doctor", "child") the Italian is masculine.
"""

from dataclasses import dataclass

NOUN_TABLE = """
man men uomo uomini m person common
woman women donna donne f person common
boy boys ragazzo ragazzi m person common
girl girls ragazza ragazze f person common
child children bambino bambini m person common
friend friends amico amici m person
doctor doctors medico medici m person job
nurse nurses infermiera infermiere f person job
lawyer lawyers avvocato avvocati m person job
teacher teachers maestro maestri m person job
student students studente studenti m person job
colleague colleagues collega colleghi m person
baker bakers fornaio fornai m person job
farmer farmers contadino contadini m person job common
chef chefs cuoco cuochi m person job
waiter waiters cameriere camerieri m person job common
waitress waitresses cameriera cameriere f person job common
actor actors attore attori m person job common
actress actresses attrice attrici f person job common
writer writers scrittore scrittori m person job common
painter painters pittore pittori m person job common
queen queens regina regine f person common
king kings re re m person common
prince princes principe principi m person common
princess princesses principessa principesse f person common
soldier soldiers soldato soldati m person job common
policeman policemen poliziotto poliziotti m person job common
psychologist psychologists psicologo psicologi m person job
gardener gardeners giardiniere giardinieri m person job
worker workers operaio operai m person job common
engineer engineers ingegnere ingegneri m person job common
scientist scientists scienziato scienziati m person job common
mayor mayors sindaco sindaci m person common
thief thieves ladro ladri m person common
fisherman fishermen pescatore pescatori m person job common
secretary secretaries segretaria segretarie f person job
father fathers padre padri m person family one
mother mothers madre madri f person family one
brother brothers fratello fratelli m person family
sister sisters sorella sorelle f person family
son sons figlio figli m person family
daughter daughters figlia figlie f person family
husband husbands marito mariti m person family one
wife wives moglie mogli f person family one
uncle uncles zio zii m person family
aunt aunts zia zie f person family
grandfather grandfathers nonno nonni m person family
grandmother grandmothers nonna nonne f person family
cat cats gatto gatti m animal pet
dog dogs cane cani m animal pet
horse horses cavallo cavalli m animal
rabbit rabbits coniglio conigli m animal pet
cow cows mucca mucche f animal
hen hens gallina galline f animal pet
goat goats capra capre f animal
donkey donkeys asino asini m animal
duck ducks anatra anatre f animal pet
pig pigs maiale maiali m animal
bird birds uccello uccelli m animal pet
turtle turtles tartaruga tartarughe f animal pet
wolf wolves lupo lupi m animal common
fox foxes volpe volpi f animal common
mouse mice topo topi m animal pet common
bear bears orso orsi m animal common
elephant elephants elefante elefanti m animal common
lion lions leone leoni m animal common
tiger tigers tigre tigri f animal common
monkey monkeys scimmia scimmie f animal common
squirrel squirrels scoiattolo scoiattoli m animal common
zebra zebras zebra zebre f animal common
eagle eagles aquila aquile f animal common
snake snakes serpente serpenti m animal common
bread - pane - m food
cheese cheeses formaggio formaggi m food
meat - carne - f food
fish - pesce - m food
rice - riso - m food
honey - miele - m food sweetness
soup soups zuppa zuppe f food dish
pizza pizzas pizza pizze f food dish
cake cakes torta torte f food sweetness dish
salad salads insalata insalate f food dish
sandwich sandwiches panino panini m food dish
ice_cream ice_creams gelato gelati m food sweetness
biscuit biscuits biscotto biscotti m food sweetness dish
yogurt yogurts yogurt yogurt m food sweetness
dumpling dumplings gnocco gnocchi m food dish
egg eggs uovo uova mf food
potato potatoes patata patate f food
tomato tomatoes pomodoro pomodori m food fruit
onion onions cipolla cipolle f food
carrot carrots carota carote f food
mushroom mushrooms fungo funghi m food
bean beans fagiolo fagioli m food
apple apples mela mele f food fruit sweetness
pear pears pera pere f food fruit sweetness
orange oranges arancia arance f food fruit sweetness
strawberry strawberries fragola fragole f food fruit sweetness
peach peaches pesca pesche f food fruit sweetness
fig figs fico fichi m food fruit sweetness
lemon lemons limone limoni m food fruit
water - acqua - f drink
wine wines vino vini m drink
milk - latte - m drink
coffee coffees caffè caffè m drink
tea - tè - m drink
beer beers birra birre f drink
juice - succo - m drink
book books libro libri m small paper text
letter letters lettera lettere f small paper text closed
newspaper newspapers giornale giornali m small paper
magazine magazines rivista riviste f small paper
dictionary dictionaries dizionario dizionari m small paper
notebook notebooks quaderno quaderni m small paper colour
ticket tickets biglietto biglietti m small
map maps mappa mappe f small
photo photos foto foto f small
key keys chiave chiavi f small
pen pens penna penne f small colour
stamp stamps francobollo francobolli m small
ring rings anello anelli m small
watch watches orologio orologi m small
umbrella umbrellas ombrello ombrelli m small colour closed
glass glasses bicchiere bicchieri m small fragile container dish
bottle bottles bottiglia bottiglie f small fragile container closed colour
plate plates piatto piatti m small fragile container colour
knife knives coltello coltelli m small
lamp lamps lampada lampade f small fragile colour
candle candles candela candele f small colour
ball balls palla palle f small colour
toy toys giocattolo giocattoli m small colour
gift gifts regalo regali m small
flower flowers fiore fiori m small colour
telephone telephones telefono telefoni m small colour
computer computers computer computer m small
mirror mirrors specchio specchi m fragile object
guitar guitars chitarra chitarre f object instrument colour
piano pianos pianoforte pianoforti m object instrument
violin violins violino violini m small instrument
hat hats cappello cappelli m small clothes colour
coat coats cappotto cappotti m small clothes colour
dress dresses vestito vestiti m small clothes colour
shirt shirts camicia camicie f small clothes colour
shoe shoes scarpa scarpe f small clothes colour
scarf scarves sciarpa sciarpe f small clothes colour
boot boots stivale stivali m small clothes colour
bag bags borsa borse f small container holder closed colour heavy
backpack backpacks zaino zaini m small container holder closed colour heavy
suitcase suitcases valigia valigie f small container holder closed colour heavy
box boxes scatola scatole f small container holder closed colour heavy
drawer drawers cassetto cassetti m container holder closed
wardrobe wardrobes armadio armadi m furniture container closed heavy colour
table tables tavolo tavoli m furniture surface heavy colour
desk desks scrivania scrivanie f furniture surface heavy
chair chairs sedia sedie f furniture surface colour
bed beds letto letti m furniture surface
sofa sofas divano divani m furniture surface heavy colour
carpet carpets tappeto tappeti m object surface colour
door doors porta porte f fragile closed colour
window windows finestra finestre f fragile closed
car cars macchina macchine f vehicle colour
bicycle bicycles bicicletta biciclette f vehicle colour
boat boats barca barche f vehicle colour
train trains treno treni m vehicle common
bus buses autobus autobus m vehicle common
song songs canzone canzoni f text music
poem poems poesia poesie f text
story stories storia storie f text
film films film film m text common
lesson lessons lezione lezioni f topic
exercise exercises esercizio esercizi m topic common
question questions domanda domande f topic
answer answers risposta risposte f topic
idea ideas idea idee f topic
problem problems problema problemi m topic
word words parola parole f topic
language languages lingua lingue f
house houses casa case f place inside building
garden gardens giardino giardini m place inside
kitchen kitchens cucina cucine f room inside
room rooms stanza stanze f room inside
office offices ufficio uffici m room inside
shop shops negozio negozi m place inside building
school schools scuola scuole f place inside building
farm farms fattoria fattorie f place inside
village villages villaggio villaggi m place inside common goal
city cities città città f place inside
market markets mercato mercati m place inside common goal
hospital hospitals ospedale ospedali m place inside common goal building
church churches chiesa chiese f place inside common building
park parks parco parchi m place inside common goal
restaurant restaurants ristorante ristoranti m place inside common goal building
hotel hotels albergo alberghi m place inside common goal building
museum museums museo musei m place inside common goal building
theatre theatres teatro teatri m place inside common goal building
stadium stadiums stadio stadi m place inside common goal building
zoo zoos zoo zoo m place inside common goal
university universities università università f place inside common goal
library libraries biblioteca biblioteche f place inside common
pharmacy pharmacies farmacia farmacie f place inside common building
station stations stazione stazioni f place inside common goal building
airport airports aeroporto aeroporti m place inside common goal building
castle castles castello castelli m place inside common goal building
wood woods bosco boschi m place inside common
field fields campo campi m place inside common
square squares piazza piazze f place inside common
factory factories fabbrica fabbriche f place inside common building
lake lakes lago laghi m nature common goal
river rivers fiume fiumi m nature common goal
bridge bridges ponte ponti m nature common goal
tree trees albero alberi m nature common
tower towers torre torri f nature common
island islands isola isole f nature common
beach beaches spiaggia spiagge f nature common
"""

NAMES = {
    "marco": "m",
    "luca": "m",
    "paolo": "m",
    "pietro": "m",
    "maria": "f",
    "giulia": "f",
    "sara": "f",
    "lucia": "f",
}

# english, italian, the tags of the nouns that it fits; "first" stands before its noun, "predicate"
# never beside one
ADJECTIVE_TABLE = """
beautiful bello first man woman boy girl child prince princess queen actress animal text small clothes place nature vehicle furniture
good buono first job food drink book dictionary text restaurant hotel idea question answer friend
big grande first animal place room nature furniture holder fruit
small piccolo first animal place room nature furniture holder toy boat
old vecchio first person animal small object furniture vehicle place room bridge tower tree
new nuovo first small object furniture vehicle shop hospital restaurant hotel school museum airport bridge topic text
young giovane first person animal
tired stanco person animal
happy felice person
sad triste person text
kind gentile person
friendly simpatico person
rich ricco person city
poor povero person
tall alto person tree tower
strong forte person animal
famous famoso person text place
honest onesto person
lazy pigro person animal
brave coraggioso person animal
shy timido person animal
polite educato person
intelligent intelligente person animal
curious curioso person animal
patient paziente person
nervous nervoso person animal
angry arrabbiato person
sick malato person animal
generous generoso person
sly furbo person fox cat
calm calmo person animal lake
proud orgoglioso person
hungry affamato person animal
thirsty assetato person animal
thin magro person animal
fat grasso person animal
lovely adorabile person animal house garden village
worried preoccupato person
serious serio person problem question
italian italiano person food wine text vehicle restaurant city newspaper
french francese person food wine text vehicle restaurant city newspaper
spanish spagnolo person food wine text restaurant city newspaper
english inglese person text newspaper city
german tedesco person beer text vehicle city newspaper
important importante person topic letter text city
ready pronto predicate person food dish
alone solo predicate person
black nero animal colour
white bianco animal colour
brown marrone animal clothes furniture holder
grey grigio animal colour
fast veloce animal vehicle
slow lento animal vehicle
wild selvatico horse cat rabbit goat duck pig donkey
dangerous pericoloso animal beach bridge river place idea
quiet tranquillo animal place beach island lake room
red rosso colour
yellow giallo colour
green verde colour
blue blu colour
pink rosa clothes flower notebook pen
purple viola clothes flower notebook pen
fresh fresco bread cheese meat fish egg milk salad fruit mushroom bean carrot
hot caldo soup pizza bread milk water coffee tea rice potato cake meat
cold freddo drink soup pizza salad rice meat ice_cream yogurt room
sweet dolce sweetness wine
bitter amaro coffee tea beer orange lemon
delicious delizioso food drink
salty salato soup cheese meat fish rice biscuit
light leggero dish drink clothes bicycle
ripe maturo fruit
expensive costoso small object furniture vehicle hotel restaurant house
cheap economico clothes ticket car bicycle hotel restaurant computer telephone wine
broken rotto fragile computer telephone bicycle car toy chair umbrella watch
clean pulito dish plate clothes container room place beach car window carpet water
dirty sporco plate glass clothes container room car window carpet square beach water
empty vuoto container place bus train room
full pieno container bus train
heavy pesante heavy book dictionary piano
modern moderno house furniture place room lamp
ancient antico ring mirror castle church city tower bridge village language map book
strange strano person animal text topic gift hat house idea
elegant elegante person clothes hotel restaurant house
useful utile dictionary book map knife gift topic exercise umbrella bag bicycle
round rotondo table carpet mirror plate box window
wet bagnato clothes dog cat umbrella carpet shoe
open aperto predicate closed shop museum pharmacy school library church
closed chiuso predicate closed shop museum pharmacy school library church
crowded affollato place bus train beach bridge
noisy rumoroso place child boy car train bus
dark buio room wood house wardrobe
interesting interessante text paper topic museum person city
boring noioso text paper topic city person
difficult difficile topic book language text
easy facile topic language
long lungo text letter topic dress scarf river bridge
short breve text letter topic
romantic romantico text restaurant island castle beach hotel
"""

# english base, he form, past | italian | subjects: p(eople) or a(nimals too) | kind of complement |
# tags or nouns of the object
VERB_TABLE = """
sleep sleeps slept | dormire | a | alone place
work works worked | lavorare | p | alone place
run runs ran | correre | a | alone place
walk walks walked | camminare | a | alone place
swim swims swam | nuotare | a | alone
jump jumps jumped | saltare | a | alone
dance dances danced | ballare | p | alone place
sing sings sang | cantare | p | alone place object | music
play plays played | giocare | p | alone place
cry cries cried | piangere | p | alone
laugh laughs laughed | ridere | p | alone
smile smiles smiled | sorridere | p | alone
shout shouts shouted | gridare | p | alone
speak speaks spoke | parlare | p | alone
travel travels travelled | viaggiare | p | alone
wait waits waited | aspettare | a | alone place
stay stays stayed | rimanere | a | place
fall falls fell | cadere | a | alone
leave leaves left | partire | p | alone
enter enters entered | entrare | a | alone
go_out goes_out went_out | uscire | a | alone
go goes went | andare | p | goal=to:a
come comes came | venire | p | alone goal=from:da
come_back comes_back came_back | tornare | p | alone goal=to:a goal=from:da
arrive arrives arrived | arrivare | p | alone goal=at:a
eat eats ate | mangiare | a | alone object | food
drink drinks drank | bere | a | alone object | drink
cook cooks cooked | cucinare | p | alone object | meat fish rice soup egg potato mushroom bean dumpling
prepare prepares prepared | preparare | p | object | dish coffee tea
cut cuts cut | tagliare | p | object | bread cheese meat cake fruit onion carrot potato
wash washes washed | lavare | p | object | clothes plate glass bottle car dog window fruit carrot
clean cleans cleaned | pulire | p | object | room house shoe table carpet window bicycle boot
buy buys bought | comprare | p | object | food drink small furniture vehicle instrument
sell sells sold | vendere | p | object | small furniture vehicle house fruit cheese bread
read reads read | leggere | p | alone object | paper text
write writes wrote | scrivere | p | object | book letter song poem story word exercise
open opens opened | aprire | p | object | closed
close closes closed | chiudere | p | object | closed
see sees saw | vedere | a | object human | person animal small vehicle place nature
look_at looks_at looked_at | guardare | a | object human | person animal photo map mirror ring flower tree river lake
look_for looks_for looked_for | cercare | a | object human | person animal small
find finds found | trovare | a | object human | small animal person
follow follows followed | seguire | a | object human | person animal
wait_for waits_for waited_for | aspettare | p | object human | person train bus answer letter
listen_to listens_to listened_to | ascoltare | p | object human | person music story poem
hear hears heard | sentire | a | object human | person animal music
know knows knew | conoscere | p | object human | person place music story
love loves loved | amare | p | object human | person pet horse city music language
hate hates hated | odiare | p | object | food lesson beer
help helps helped | aiutare | p | object human | person
meet meets met | incontrare | p | object human | person
call calls called | chiamare | p | object human | person
greet greets greeted | salutare | p | object human | person
invite invites invited | invitare | p | object human | person
thank thanks thanked | ringraziare | p | object human | person
hug hugs hugged | abbracciare | p | object human | person pet
kiss kisses kissed | baciare | p | object human | person
visit visits visited | visitare | p | object | place castle island
break breaks broke | rompere | p | object | fragile toy chair
lose loses lost | perdere | p | object | small
take takes took | prendere | p | object | small train bus bicycle
carry carries carried | portare | p | object | heavy lamp plate bottle glass chair
wear wears wore | indossare | p | object | clothes ring
hide hides hid | nascondere | p | object | small food
steal steals stole | rubare | p | object | small vehicle bread cheese
use uses used | usare | p | object | telephone computer dictionary knife map car bicycle pen
repair repairs repaired | riparare | p | object | vehicle watch lamp computer telephone chair toy door window
draw draws drew | disegnare | p | object | animal flower tree house castle map
paint paints painted | dipingere | p | object | house door chair window flower tree boat horse
build builds built | costruire | p | object | building bridge tower boat furniture toy
play plays played | suonare | p | object | instrument
learn learns learned | imparare | p | object | language poem song word lesson
study studies studied | studiare | p | alone object | language lesson
understand understands understood | capire | p | object | topic language poem film
forget forgets forgot | dimenticare | p | object | small word answer question
remember remembers remembered | ricordare | p | object | word answer question story song poem lesson
choose chooses chose | scegliere | p | object | clothes ring book film dish hotel restaurant wine gift
finish finishes finished | finire | p | object | book letter story lesson exercise soup
begin begins began | cominciare | p | object | book letter story lesson exercise
make makes made | fare | p | object | cake pizza coffee bread biscuit dumpling salad
hold holds held | tenere | p | object | umbrella bag candle cat ball map
throw throws threw | lanciare | p | object | ball hat toy
have has had | avere | p | object | brother sister son daughter uncle aunt pet horse small vehicle house garden problem idea question
say says said | dire | p | object that | word
know knows knew | sapere | p | that
give gives gave | dare | p | gift | small food drink
show shows showed | mostrare | p | gift | small photo house garden city
send sends sent | mandare | p | gift | letter photo gift book flower ticket map
bring brings brought | portare | p | gift | small food drink
offer offers offered | offrire | p | gift | food drink flower ticket gift
lend lends lent | prestare | p | gift | small vehicle
explain explains explained | spiegare | p | gift | topic poem
tell tells told | raccontare | p | gift | story
want_to wants_to wanted_to | volere | p | modal
must must - | dovere | p | modal
can can - | potere | p | modal
know_how_to knows_how_to knew_how_to | sapere | p | skill
"""

SKILLS = ("swim", "cook", "sing", "dance", "read", "write", "draw", "play", "repair", "paint")

STATIVE = {
    "avere",
    "conoscere",
    "amare",
    "odiare",
    "volere",
    "sapere",
    "essere",
    "stare",
    "dovere",
    "potere",
}
WITH_ESSERE = {
    "rimanere",
    "cadere",
    "partire",
    "entrare",
    "uscire",
    "andare",
    "venire",
    "tornare",
    "arrivare",
    "essere",
    "stare",
}
WITH_ISC = {"pulire", "costruire", "capire", "finire"}

# the present of io, tu, lui, noi, loro
IRREGULAR_PRESENT = {
    "essere": "sono sei è siamo sono",
    "avere": "ho hai ha abbiamo hanno",
    "fare": "faccio fai fa facciamo fanno",
    "andare": "vado vai va andiamo vanno",
    "venire": "vengo vieni viene veniamo vengono",
    "stare": "sto stai sta stiamo stanno",
    "dare": "do dai dà diamo danno",
    "dire": "dico dici dice diciamo dicono",
    "bere": "bevo bevi beve beviamo bevono",
    "potere": "posso puoi può possiamo possono",
    "volere": "voglio vuoi vuole vogliamo vogliono",
    "dovere": "devo devi deve dobbiamo devono",
    "sapere": "so sai sa sappiamo sanno",
    "uscire": "esco esci esce usciamo escono",
    "rimanere": "rimango rimani rimane rimaniamo rimangono",
    "tenere": "tengo tieni tiene teniamo tengono",
    "piacere": "piaccio piaci piace piacciamo piacciono",
    "scegliere": "scelgo scegli sceglie scegliamo scelgono",
}
IRREGULAR_FUTURE = {  # what stands before -ò
    "essere": "sar",
    "avere": "avr",
    "fare": "far",
    "andare": "andr",
    "venire": "verr",
    "stare": "star",
    "dare": "dar",
    "bere": "berr",
    "potere": "potr",
    "volere": "vorr",
    "dovere": "dovr",
    "sapere": "sapr",
    "rimanere": "rimarr",
    "tenere": "terr",
    "vedere": "vedr",
    "cadere": "cadr",
}
IRREGULAR_IMPERFECT = {"essere": "ero eri era eravamo erano"}
IRREGULAR_PARTICIPLE = {
    "essere": "stato",
    "correre": "corso",
    "piangere": "pianto",
    "ridere": "riso",
    "sorridere": "sorriso",
    "rimanere": "rimasto",
    "venire": "venuto",
    "bere": "bevuto",
    "leggere": "letto",
    "scrivere": "scritto",
    "aprire": "aperto",
    "chiudere": "chiuso",
    "vedere": "visto",
    "rompere": "rotto",
    "perdere": "perso",
    "prendere": "preso",
    "nascondere": "nascosto",
    "dipingere": "dipinto",
    "scegliere": "scelto",
    "fare": "fatto",
    "dire": "detto",
    "offrire": "offerto",
    "conoscere": "conosciuto",
    "piacere": "piaciuto",
}


PERSONS = ("i", "you", "he", "we", "they")  # "she" takes the forms of "he"
SOFT_PLURALS = {"simpatico", "selvatico", "economico", "romantico"}  # -ci, where others have -chi
FORMS = (("m", False), ("f", False), ("m", True), ("f", True))


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun. `english`, `italian` and `gender` are pairs, singular and plural; a noun without
    plural has None there.
    """

    english: tuple
    italian: tuple
    gender: tuple
    tags: frozenset

    @property
    def name(self):
        """The English singular, by which tables and tests call it."""
        return self.english[0]

    def is_one_of(self, tags):
        """Return whether one of some tags, or names of nouns, is its own."""
        return self.name in tags or not self.tags.isdisjoint(tags)


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective: `italian[gender, plural]`, where it stands, and the nouns that it fits.

    Args:
        place: "first" before its noun, "last" behind it, "predicate" never beside one.
    """

    english: str
    italian: dict
    place: str
    tags: frozenset

    def fits(self, noun):
        """Return whether a noun can be so."""
        return noun.is_one_of(self.tags)


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb: its English base, he-form and past; its Italian forms for io, tu, lui, noi, loro; and
    what may stand around it.

    Args:
        by_animals: whether animals do it too, or only people.
        kinds: the complements that it takes, such as "alone", "object" or "goal=to:a".
        tags: what its object may be.
    """

    english: tuple
    italian: str
    present: tuple
    future: tuple
    imperfect: tuple
    participle: str
    by_animals: bool = False
    kinds: tuple = ()
    tags: frozenset = frozenset()

    @property
    def stative(self):
        """Whether its past is the imperfetto ("conosceva") and not the passato prossimo ("ha
        visto").
        """
        return self.italian in STATIVE

    @property
    def auxiliary(self):
        """The verb that makes its passato prossimo."""
        return "essere" if self.italian in WITH_ESSERE else "avere"


def present(infinitive):
    """Return the present of io, tu, lui, noi, loro."""
    if infinitive in IRREGULAR_PRESENT:
        return tuple(IRREGULAR_PRESENT[infinitive].split())
    stem = infinitive[:-3]
    if infinitive.endswith("are"):
        # Before -i: cerchi, mangi.
        soft = stem + "h" if stem[-1] in "cg" else stem.removesuffix("i")
        return stem + "o", soft + "i", stem + "a", soft + "iamo", stem + "ano"
    long = stem + "isc" if infinitive in WITH_ISC else stem
    return long + "o", long + "i", long + "e", stem + "iamo", long + "ono"


def future(infinitive):
    """Return the future of io, tu, lui, noi, loro."""
    stem = infinitive[:-3]
    if infinitive in IRREGULAR_FUTURE:
        stem = IRREGULAR_FUTURE[infinitive]
    elif not infinitive.endswith("are"):
        stem = infinitive[:-1]
    elif stem[-1] in "cg":
        stem += "her"  # cercherò
    elif stem.endswith(("ci", "gi")):
        stem = stem[:-1] + "er"  # mangerò
    else:
        stem += "er"
    return tuple(stem + end for end in ("ò", "ai", "à", "emo", "anno"))


def imperfect(infinitive):
    """Return the imperfetto of io, tu, lui, noi, loro, for the verbs whose past it is."""
    if infinitive in IRREGULAR_IMPERFECT:
        return tuple(IRREGULAR_IMPERFECT[infinitive].split())
    return tuple(infinitive[:-2] + end for end in ("vo", "vi", "va", "vamo", "vano"))


def participle(infinitive):
    """Return the past participle, masculine singular."""
    regular = infinitive[:-3] + {"are": "ato", "ere": "uto", "ire": "ito"}[infinitive[-3:]]
    return IRREGULAR_PARTICIPLE.get(infinitive, regular)


def agreeing(word):
    """Return the four forms of an adjective or participle, by gender and plural."""
    if word in ("blu", "rosa", "viola"):
        return dict.fromkeys(FORMS, word)
    stem = word[:-1]
    if word.endswith("e"):
        return dict(zip(FORMS, (word, word, stem + "i", stem + "i"), strict=True))
    hard = stem + "h" if stem[-1] in "cg" else stem  # before -i and -e: stanchi, stanche
    masculine = stem if word in SOFT_PLURALS else hard
    return dict(
        zip(FORMS, (word, stem + "a", masculine.removesuffix("i") + "i", hard + "e"), strict=True)
    )


def rows(table):
    """Return the lines of a table as lists of fields; an underscore joins what is two words of a
    language.
    """
    return [
        [field.replace("_", " ") for field in line.split(" ")]
        for line in table.strip().splitlines()
    ]


def read_nouns():
    """Return the nouns, by name."""
    nouns = {}
    for english, plural, italian, italian_plural, gender, *tags in rows(NOUN_TABLE):
        forms = (
            ((english, None), (italian, None))
            if plural == "-"
            else ((english, plural), (italian, italian_plural))
        )
        nouns[english] = Noun(*forms, (gender[0], gender[-1]), frozenset(tags))
    return nouns


def read_adjectives():
    """Return the adjectives, by their English."""
    adjectives = {}
    for english, italian, *tags in rows(ADJECTIVE_TABLE):
        place = tags.pop(0) if tags[0] in ("first", "predicate") else "last"
        adjectives[english] = Adjective(english, agreeing(italian), place, frozenset(tags))
    return adjectives


def verb(english, infinitive, *limits):
    """Return a verb in all its forms."""
    forms = present(infinitive), future(infinitive), imperfect(infinitive), participle(infinitive)
    return Verb(english, infinitive, *forms, *limits)


def read_verbs():
    """Return the verbs, by English base and Italian infinitive: "play" is giocare, and suonare with
    an instrument.
    """
    verbs = {}
    for line in VERB_TABLE.strip().splitlines():
        english, italian, subjects, kinds, *tags = (field.strip() for field in line.split("|"))
        english = tuple(form.replace("_", " ") for form in english.split())
        tags = frozenset(tag.replace("_", " ") for tag in " ".join(tags).split())
        verbs[english[0], italian] = verb(
            english, italian, subjects == "a", tuple(kinds.split()), tags
        )
    return verbs


NOUNS = read_nouns()
ADJECTIVES = read_adjectives()
VERBS = read_verbs()
BE = verb(("be", "is", "was"), "essere")
BE_WELL = verb(("be", "is", "was"), "stare")
