"""What the links of pagers say, in the languages of catalogues, and how such texts are compared."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rapidfuzz import fuzz, process

_NEXT = {
    "en": ("next", "forward"),
    "de": ("weiter", "nächste", "naechste", "nächster", "nächsten", "vorwärts", "vor"),
    "fr": ("suivant", "suivante", "suivants", "suiv"),
    "es": ("siguiente", "siguientes", "próxima", "próximo", "adelante"),
    "ca": ("següent", "següents", "pròxima", "endavant"),
    "gl": ("seguinte", "seguintes"),
    "eu": ("hurrengoa", "hurrengo"),
    "pt": ("próxima", "próximo", "seguinte", "avançar"),
    "it": ("successivo", "successiva", "prossimo", "prossima", "avanti", "seguente"),
    "ro": ("următoarea", "următorul", "înainte"),
    "nl": ("volgende", "verder"),
    "da": ("næste", "frem"),
    "nb": ("neste",),
    "sv": ("nästa", "framåt"),
    "fi": ("seuraava", "seuraavat"),
    "et": ("järgmine", "edasi"),
    "lv": ("nākamā", "nākamais", "tālāk"),
    "lt": ("kitas", "toliau", "pirmyn"),
    "pl": ("następna", "następny", "następne", "dalej"),
    "cs": ("další", "následující", "dále"),
    "sk": ("ďalšia", "ďalší", "ďalšie", "nasledujúca", "ďalej"),
    "sl": ("naslednja", "naslednji", "naprej"),
    "hr": ("sljedeća", "sljedeće", "iduća", "dalje"),
    "sr": ("следећа", "следеће", "sledeća", "sledeće"),
    "mk": ("следна", "следно", "напред"),
    "bg": ("следваща", "следващ", "следващи", "напред"),
    "ru": ("следующая", "следующие", "далее", "вперёд"),
    "uk": ("наступна", "наступні", "далі", "вперед"),
    "be": ("наступная", "далей"),
    "hu": ("következő", "tovább"),
    "el": ("επόμενη", "επόμενο", "επόμενα"),
    "sq": ("tjetra", "vijues"),
    "tr": ("sonraki", "ileri"),
    "ga": ("ar aghaidh", "an chéad eile"),
    "cy": ("nesaf",),
    "mt": ("li jmiss",),
    "is": ("næsta", "áfram"),
    "ar": ("التالي", "التالية"),
    "fa": ("بعدی", "صفحه بعد"),
    "he": ("הבא", "הבאה"),
    "ur": ("اگلا", "اگلے"),
    "hi": ("अगला", "अगले", "आगे"),
    "bn": ("পরবর্তী",),
    "th": ("ถัดไป", "หน้าถัดไป"),
    "vi": ("tiếp", "tiếp theo", "trang sau"),
    "id": ("berikutnya", "selanjutnya"),
    "ms": ("seterusnya",),
    "sw": ("inayofuata",),
    "zh": ("下一页", "下一頁", "下页", "下頁", "后一页", "下一個", "下一步"),
    "ja": ("次へ", "次", "次のページ", "次ページ", "次の件"),
    "ko": ("다음", "다음 페이지"),
    "ka": ("შემდეგი",),
    "hy": ("հաջորդ", "հաջորդը"),
    "az": ("növbəti",),
    "kk": ("келесі",),
}

_OLDER = {
    "en": ("older",),
    "de": ("ältere", "älteren", "älter"),
    "fr": ("plus anciens", "plus anciennes", "plus ancien"),
    "es": ("más antiguos", "más antiguas", "antiguas", "antiguos"),
    "ca": ("més antics", "més antigues"),
    "pt": ("mais antigos", "mais antigas"),
    "it": ("più vecchi", "più vecchie", "meno recenti"),
    "ro": ("mai vechi",),
    "nl": ("oudere",),
    "da": ("ældre",),
    "nb": ("eldre",),
    "sv": ("äldre",),
    "fi": ("vanhemmat", "vanhempia"),
    "pl": ("starsze",),
    "cs": ("starší",),
    "sk": ("staršie",),
    "hr": ("starije",),
    "sl": ("starejši", "starejše"),
    "bg": ("по-стари",),
    "ru": ("более старые", "более ранние", "старее"),
    "uk": ("старіші", "старші"),
    "hu": ("régebbi", "régebbiek"),
    "el": ("παλαιότερα", "παλιότερα"),
    "tr": ("daha eski",),
    "ar": ("الأقدم",),
    "he": ("ישנים יותר", "ישנות יותר"),
    "vi": ("cũ hơn",),
    "id": ("lebih lama",),
    "zh": ("更早", "较旧", "較舊"),
    "ja": ("以前の", "過去の", "古い"),
}
"""The way on through what is newest first."""

_NEWER = {
    "en": ("newer", "newest"),
    "de": ("neuere", "neueren", "neuer", "neueste"),
    "fr": ("plus récents", "plus récentes", "plus récent"),
    "es": ("más recientes", "más nuevos", "recientes"),
    "ca": ("més recents",),
    "pt": ("mais recentes",),
    "it": ("più recenti",),
    "ro": ("mai noi",),
    "nl": ("nieuwere",),
    "da": ("nyere",),
    "sv": ("nyare",),
    "fi": ("uudemmat", "uudempia"),
    "pl": ("nowsze",),
    "cs": ("novější",),
    "sk": ("novšie",),
    "hr": ("novije",),
    "sl": ("novejši", "novejše"),
    "bg": ("по-нови",),
    "ru": ("более новые", "более поздние", "новее"),
    "uk": ("новіші",),
    "hu": ("újabb", "újabbak"),
    "el": ("νεότερα",),
    "tr": ("daha yeni",),
    "vi": ("mới hơn",),
    "id": ("lebih baru",),
    "zh": ("更新", "较新", "較新"),
    "ja": ("新しい",),
}

_BACK = {
    "en": ("previous", "prev", "back", "first", "last", "end", "start"),
    "de": ("zurück", "vorherige", "vorige", "erste", "letzte", "anfang", "ende"),
    "fr": ("précédent", "précédente", "premier", "première", "dernier", "dernière", "retour"),
    "es": ("anterior", "primera", "primero", "última", "último", "atrás"),
    "ca": ("primer", "darrer", "darrera", "últim"),
    "eu": ("aurrekoa", "lehena", "azkena"),
    "pt": ("primeira", "primeiro", "voltar"),
    "it": ("precedente", "indietro", "prima", "ultima", "ultimo"),
    "ro": ("anterioară", "anteriorul", "prima", "ultima", "înapoi"),
    "nl": ("vorige", "eerste", "laatste", "terug"),
    "da": ("forrige", "første", "sidste", "tilbage"),
    "nb": ("siste", "tilbake"),
    "sv": ("föregående", "första", "sista", "bakåt"),
    "fi": ("edellinen", "ensimmäinen", "viimeinen"),
    "et": ("eelmine", "esimene", "viimane", "tagasi"),
    "lv": ("iepriekšējā", "pirmā", "pēdējā"),
    "lt": ("ankstesnis", "pirmas", "paskutinis", "atgal"),
    "pl": ("poprzednia", "pierwsza", "ostatnia", "wstecz"),
    "cs": ("předchozí", "první", "poslední", "zpět"),
    "sk": ("predchádzajúca", "prvá", "posledná", "späť"),
    "sl": ("prejšnja", "prva", "zadnja", "nazaj"),
    "hr": ("prethodna", "zadnja", "posljednja", "natrag"),
    "sr": ("претходна", "прва", "последња"),
    "bg": ("предишна", "предходна", "първа", "последна", "назад"),
    "ru": ("предыдущая", "первая", "последняя"),
    "uk": ("попередня", "перша", "остання"),
    "hu": ("előző", "első", "utolsó", "vissza"),
    "el": ("προηγούμενη", "πρώτη", "τελευταία"),
    "tr": ("önceki", "ilk", "son", "geri"),
    "is": ("fyrri", "fyrsta", "síðasta"),
    "ar": ("السابق", "الأول", "الأخير"),
    "fa": ("قبلی",),
    "he": ("הקודם", "ראשון", "אחרון"),
    "hi": ("पिछला",),
    "vi": ("trước", "đầu", "cuối"),
    "id": ("sebelumnya", "pertama", "terakhir"),
    "zh": ("上一页", "上一頁", "上页", "首页", "首頁", "尾页", "末页", "最後"),
    "ja": ("前へ", "前", "前のページ", "最初", "最後"),
    "ko": ("이전", "처음", "마지막"),
}

_MORE = {
    "en": ("Load more", "Show more", "View more", "More results", "Load more results", "Show more results", "See more"),
    "de": ("Mehr laden", "Mehr anzeigen", "Weitere laden", "Weitere anzeigen", "Weitere Ergebnisse", "Mehr Ergebnisse"),
    "fr": ("Charger plus", "Afficher plus", "Voir plus", "Plus de résultats"),
    "es": ("Cargar más", "Mostrar más", "Ver más", "Más resultados"),
    "ca": ("Carrega'n més", "Carregar més", "Mostra'n més", "Més resultats"),
    "pt": ("Carregar mais", "Mostrar mais", "Ver mais", "Mais resultados"),
    "it": ("Carica altri", "Mostra altri", "Mostra di più", "Carica di più", "Altri risultati"),
    "ro": ("Încarcă mai multe", "Mai multe rezultate"),
    "nl": ("Meer laden", "Toon meer", "Meer tonen", "Meer resultaten"),
    "da": ("Vis flere", "Indlæs flere", "Hent flere"),
    "nb": ("Last inn flere", "Last inn mer"),
    "sv": ("Visa fler", "Ladda fler", "Läs in fler"),
    "fi": ("Näytä lisää", "Lataa lisää"),
    "et": ("Näita rohkem", "Lae rohkem"),
    "lv": ("Rādīt vairāk", "Ielādēt vairāk"),
    "lt": ("Rodyti daugiau", "Įkelti daugiau"),
    "pl": ("Pokaż więcej", "Załaduj więcej", "Wczytaj więcej"),
    "cs": ("Načíst další", "Zobrazit další", "Zobrazit více"),
    "sk": ("Načítať ďalšie", "Zobraziť viac"),
    "sl": ("Prikaži več", "Naloži več"),
    "hr": ("Prikaži više", "Učitaj više"),
    "bg": ("Покажи още", "Зареди още"),
    "ru": ("Показать ещё", "Загрузить ещё"),
    "uk": ("Показати ще", "Завантажити ще"),
    "hu": ("Továbbiak betöltése", "Több megjelenítése"),
    "el": ("Φόρτωση περισσότερων", "Περισσότερα"),
    "tr": ("Daha fazla yükle", "Daha fazla göster"),
    "ar": ("تحميل المزيد", "عرض المزيد"),
    "he": ("טען עוד", "הצג עוד"),
    "id": ("Muat lebih banyak",),
    "vi": ("Xem thêm", "Tải thêm"),
    "zh": ("加载更多", "查看更多", "載入更多", "更多"),
    "ja": ("もっと見る", "さらに表示"),
    "ko": ("더 보기", "더보기"),
}

MORE: tuple[str, ...] = tuple(
    dict.fromkeys([one for table in (_MORE, _NEXT, _OLDER) for words in table.values() for one in words])
)
"""What the button says that brings more datasets: "load more" first, then "next"."""

_BESIDE = frozenset(
    (
        *(
            "page",
            "pages",
            "result",
            "results",
            "go",
            "to",
            "the",
            "show",
            "view",
            "posts",
            "entries",
            "items",
            "records",
        ),
        *("seite", "seiten", "zur", "zu", "zum", "der", "die", "gehe", "ergebnisse", "treffer", "eintrage"),
        *(
            "pagina",
            "paginas",
            "pag",
            "ir",
            "a",
            "la",
            "alla",
            "vai",
            "resultados",
            "registros",
            "pagines",
            "resultats",
        ),
        *(
            "aller",
            "resultat",
            "risultati",
            "strona",
            "strony",
            "strana",
            "stranka",
            "stranica",
            "stran",
            "oldal",
            "sida",
        ),
        *("side", "sivu", "lehekulg", "lapa", "puslapis", "sayfa", "σελιδα", "страница", "страници", "сторінка"),
        *(
            "сторінки",
            "старонка",
            "صفحة",
            "الصفحة",
            "עמוד",
            "페이지",
            "trang",
            "halaman",
            "orria",
            "orrialdea",
            "paxina",
        ),
        *("entry", "datasets", "beitrage", "datensatze", "meldungen", "articles", "entrees"),
        *("jeux", "donnees", "entradas", "conjuntos", "datos", "dades", "voci", "articoli", "post"),
        *("berichten", "indlæg", "inlagg", "innlegg", "wpisy", "prispevky", "bejegyzesek", "записи", "kayitlar"),
        *("naar", "de", "till", "til", "na", "sur", "of", "von", "di", "pagini", "siguientes", "strane", "страна"),
    )
)
"""Words that stand beside "next" without a change of what it means."""

SINGLE = frozenset(
    ("›", ">", "→", "▶", "►", "▸", "❯", "⟩", "〉", "⏵", "⇒", "➔", "➜", "➡", "chevron_right", "arrow_forward")
)
SINGLE_LEFT = frozenset(("‹", "<", "←", "◀", "◄", "◂", "❮", "⟨", "〈"))
DOUBLE = frozenset(("»", ">>", "≫", "››", "⏩", "❯❯"))
ELLIPSIS = frozenset(("...", "…", ". . .", "[...]", "[…]", "⋯", "··"))
_LONGEST = 60
ALIKE = 90.0


def plain(text: str) -> str:
    """Letters alone: without case, accents, digits and signs.

    >>> plain("Nächste Seite (2) »"), plain("Próxima"), plain(" > ")
    ('nachste seite', 'proxima', '')
    """
    apart = unicodedata.normalize("NFKD", text[:1000]).casefold()
    kept = (letter for letter in apart if not unicodedata.category(letter).startswith("M"))
    return " ".join("".join(letter if letter.isalpha() else " " for letter in kept).split())


def _table(words: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plain(one) for group in words.values() for one in group))


_NEXT_PLAIN = (*_table(_NEXT), *_table(_OLDER))
_BACK_PLAIN = frozenset((*_table(_BACK), *_table(_NEWER)))


@lru_cache(maxsize=4096)
def says_next(text: str) -> bool:
    """Whether it says "next" in a language, "page" beside it or not.

    >>> says_next("Nächste Seite"), says_next("Siguiente »"), says_next("next event"), says_next("Letzte")
    (True, True, False, False)
    """
    if len(text) > _LONGEST:
        return False
    words = plain(text)
    bare = " ".join(word for word in words.split() if word not in _BESIDE)
    return any(
        bool(one) and process.extractOne(one, _NEXT_PLAIN, scorer=fuzz.ratio, score_cutoff=ALIKE) is not None
        for one in {words, bare}
    )


@lru_cache(maxsize=4096)
def says_back(text: str) -> bool:
    """Whether it says that it leads to an earlier page, or to the first or last one.

    >>> says_back("Vorherige Seite"), says_back("‹"), says_back("next")
    (True, True, False)
    """
    if len(text) > _LONGEST:
        return False
    sign = text.strip()
    words = [word for word in plain(text).split() if word not in _BESIDE]
    return sign in SINGLE_LEFT or sign in ("«", "<<", "|<", ">|", "⏭", "⏮") or " ".join(words) in _BACK_PLAIN


def alike(text: str, wanted: str) -> float:
    """How alike two texts are, from 0 to 100: signs count where there are no letters.

    >>> alike("WEITER »", "weiter"), alike(">", ">"), alike(">>", ">"), alike("Next event", "Next") < 90
    (100.0, 100.0, 0.0, True)
    """
    if len(text) > _LONGEST + 3 * len(wanted):
        return 0.0
    one, other = plain(text), plain(wanted)
    if not one or not other:
        return 100.0 if text.strip() == wanted.strip() else 0.0
    return fuzz.ratio(one, other)


def is_beside(text: str) -> bool:
    """Whether it is no more than "page", in a language.

    >>> is_beside("Seite "), is_beside("Go to page"), is_beside("Top")
    (True, True, False)
    """
    found = plain(text).split()
    return bool(found) and all(word in _BESIDE for word in found)
