"""What portals call the fields of a dataset, by language: the words that stand beside the values on their pages.

A word belongs to one field, save where portals use it for two; `crawlers.mapping.html.likeness` takes a word of another
field for no misspelling of this one.
"""

from __future__ import annotations

from functools import cache

from crawlers.mapping.html.wording import key

_WORDS: dict[str, str] = {
    "title": """
en Title, Dataset title, Title of dataset, Dataset name, Name of dataset, Name, Resource title
de Titel, Titel des Datensatzes, Name des Datensatzes, Datensatzname, Bezeichnung, Name
fr Titre, Titre du jeu de données, Nom du jeu de données, Intitulé, Nom
es Título, Título del conjunto de datos, Nombre del conjunto de datos, Nombre, Denominación
it Titolo, Titolo del dataset, Nome del dataset, Nome, Denominazione
pt Título, Título do conjunto de dados, Nome do conjunto de dados, Nome, Designação
ca Títol, Títol del conjunt de dades, Nom del conjunt de dades, Nom
gl Título, Nome do conxunto de datos, Título do conxunto de datos
eu Izenburua, Izena, Datu multzoaren izena
nl Titel, Titel van de dataset, Naam van de dataset, Naam
da Titel, Navn, Datasættets navn
sv Titel, Namn, Datamängdens namn
nb Tittel, Navn, Datasettets navn
nn Tittel, Namn
fi Otsikko, Nimi, Tietoaineiston nimi, Aineiston nimi
pl Tytuł, Nazwa, Nazwa zbioru danych, Tytuł zbioru danych
cs Název, Titulek, Název datové sady
sk Názov, Titul, Názov datasetu
hu Cím, Megnevezés, Név, Adatkészlet neve
ro Titlu, Denumire, Nume, Titlul setului de date
bg Заглавие, Име, Наименование
el Τίτλος, Ονομασία, Όνομα, Τίτλος συνόλου δεδομένων
hr Naslov, Naziv, Naziv skupa podataka
sl Naslov, Naziv, Ime, Naziv zbirke
sr Наслов, Назив, Naslov, Naziv
et Pealkiri, Nimetus, Nimi, Andmestiku nimi
lv Nosaukums, Virsraksts, Datu kopas nosaukums
lt Pavadinimas, Antraštė, Duomenų rinkinio pavadinimas
ga Teideal, Ainm
mt Titolu, Isem
is Titill, Heiti, Nafn
uk Назва, Заголовок, Назва набору даних
ru Название, Заголовок, Наименование, Наименование набора данных, Название набора данных
tr Başlık, Ad, Adı, Veri seti adı
sq Titulli, Emri
mk Наслов, Назив
cy Teitl
ar العنوان, عنوان, اسم مجموعة البيانات, الاسم
zh 标题, 名称, 数据集名称, 標題, 名稱, 資料集名稱
ja タイトル, 名称, データセット名, 題名
ko 제목, 이름, 데이터셋명
""",
    "description": """
en Description, Dataset description, Abstract, Summary, Notes, About this dataset, About, Short description, Overview
de Beschreibung, Kurzbeschreibung, Inhaltliche Beschreibung, Zusammenfassung, Datensatzbeschreibung, Inhalt
fr Description, Résumé, Descriptif, Présentation
es Descripción, Resumen, Descripción del conjunto de datos
it Descrizione, Abstract, Riassunto, Descrizione del dataset
pt Descrição, Resumo, Descrição do conjunto de dados
ca Descripció, Resum
gl Descrición, Resumo
eu Deskribapena, Azalpena, Laburpena
nl Beschrijving, Omschrijving, Samenvatting
da Beskrivelse, Resumé
sv Beskrivning, Sammanfattning
nb Beskrivelse, Sammendrag
nn Omtale, Skildring
fi Kuvaus, Tiivistelmä
pl Opis, Streszczenie
cs Popis, Abstrakt, Souhrn
sk Popis, Abstrakt, Zhrnutie
hu Leírás, Összefoglaló
ro Descriere, Rezumat
bg Описание, Резюме
el Περιγραφή, Περίληψη
hr Opis, Sažetak
sl Opis, Povzetek
sr Опис, Opis
et Kirjeldus, Kokkuvõte
lv Apraksts, Kopsavilkums
lt Aprašymas, Aprašas, Santrauka
ga Cur síos, Tuairisc, Achoimre
mt Deskrizzjoni
is Lýsing, Samantekt
uk Опис, Анотація
ru Описание, Аннотация, Описание набора данных
tr Açıklama, Tanım, Özet
sq Përshkrimi
mk Опис
cy Disgrifiad
ar الوصف, وصف, ملخص
zh 描述, 说明, 简介, 摘要, 說明, 簡介, 資料集描述, 数据集描述
ja 説明, 概要, 内容
ko 설명, 개요
""",
    "identifier": """
en Identifier, Dataset ID, Unique identifier, ID, Dataset identifier, Reference number, DOI, Unique ID
de Identifikator, Kennung, Bezeichner, Datensatz-ID, Eindeutige Kennung, Identifier, Kennnummer
fr Identifiant, Identificateur, Référence, Identifiant unique
es Identificador, Código identificador, Identificador único
it Identificatore, Identificativo, Codice identificativo
pt Identificador, Identificação
ca Identificador
gl Identificador
eu Identifikatzailea
nl Identificatie, Identificator, Kenmerk, Identificatienummer
da Identifikator, Identifikation
sv Identifierare
nb Identifikator
fi Tunniste, Yksilöivä tunniste, Tunnus
pl Identyfikator
cs Identifikátor
sk Identifikátor
hu Azonosító
ro Identificator
bg Идентификатор
el Αναγνωριστικό, Κωδικός
hr Identifikator
sl Identifikator, Enolični identifikator
sr Идентификатор
et Identifikaator, Tunnus
lv Identifikators
lt Identifikatorius
ga Aitheantóir
mt Identifikatur
is Auðkenni
uk Ідентифікатор
ru Идентификатор, Идентификационный номер
tr Tanımlayıcı, Kimlik
sq Identifikuesi
mk Идентификатор
cy Dynodwr
ar المعرف, معرف
zh 标识符, 标识, 识别码, 識別碼, 資料集編號
ja 識別子
ko 식별자
""",
    "issued": """
en Issued, Published, Publication date, Date published, Release date, Released, Date released, Date of publication, \
Created, Date created, Creation date, Issue date, Date issued, Published on, First published, Metadata created, \
Date of release, Date added, Added
de Veröffentlicht, Veröffentlichungsdatum, Veröffentlicht am, Erstellt, Erstellungsdatum, Erstellt am, \
Datum der Veröffentlichung, Erstveröffentlichung, Ausgabedatum, Publiziert am, Publikationsdatum, Bereitgestellt am
fr Date de publication, Publié le, Date de création, Créé le, Date de parution, Publication, Date de mise en ligne, \
Mis en ligne le
es Fecha de publicación, Fecha de creación, Publicado, Publicado el, Creado, Fecha de emisión, Fecha de alta, \
Fecha de lanzamiento, Creado el
it Data di pubblicazione, Data di creazione, Pubblicato, Pubblicato il, Data di rilascio, Data rilascio, Creato il, \
Data pubblicazione, Data di emissione, Creato
pt Data de publicação, Data de criação, Publicado em, Criado em, Data de lançamento, Publicado, Criado
ca Data de publicació, Data de creació, Publicat, Publicat el, Creat
gl Data de publicación, Data de creación, Publicado o
eu Argitaratze-data, Argitalpen data, Sortze data
nl Publicatiedatum, Gepubliceerd, Gepubliceerd op, Datum van publicatie, Aanmaakdatum, Datum publicatie, \
Aangemaakt op, Uitgiftedatum
da Udgivelsesdato, Udgivet, Offentliggjort, Oprettet, Publiceringsdato
sv Publicerad, Publiceringsdatum, Utgivningsdatum, Skapad, Utgiven, Publicerades
nb Publisert, Publiseringsdato, Utgivelsesdato, Opprettet, Utgitt
nn Publisert, Oppretta
fi Julkaistu, Julkaisupäivä, Julkaisupäivämäärä, Luotu, Julkaisuajankohta
pl Data publikacji, Data utworzenia, Opublikowano, Data wydania, Utworzono, Data udostępnienia
cs Datum vydání, Datum zveřejnění, Vytvořeno, Publikováno, Datum publikace, Datum vytvoření, Zveřejněno
sk Dátum vydania, Dátum zverejnenia, Vytvorené, Publikované, Dátum vytvorenia, Zverejnené
hu Közzététel dátuma, Kiadás dátuma, Létrehozva, Megjelenés dátuma, Közzétéve, Létrehozás dátuma
ro Data publicării, Data creării, Publicat, Publicat la, Data emiterii, Creat la
bg Дата на публикуване, Дата на създаване, Публикувано, Създаден, Дата на издаване
el Ημερομηνία δημοσίευσης, Ημερομηνία έκδοσης, Δημοσιεύθηκε, Ημερομηνία δημιουργίας, Δημιουργήθηκε
hr Datum objave, Datum izdavanja, Objavljeno, Stvoreno, Datum izrade
sl Datum objave, Datum izdaje, Objavljeno, Datum nastanka, Ustvarjeno
sr Датум објављивања, Датум креирања, Datum objavljivanja
et Avaldamise kuupäev, Avaldatud, Loodud, Väljaandmise kuupäev, Loomise kuupäev
lv Publicēšanas datums, Publicēts, Izdošanas datums, Izveidots, Izveides datums
lt Paskelbimo data, Paskelbta, Publikavimo data, Išleidimo data, Sukurta, Sukūrimo data
ga Dáta foilsithe, Foilsithe, Cruthaithe
mt Data tal-pubblikazzjoni, Ippubblikat
is Útgáfudagur, Birt, Birtingardagur, Stofnað
uk Дата публікації, Опубліковано, Дата створення, Створено, Дата оприлюднення
ru Дата публикации, Опубликовано, Дата создания, Создано, Дата первой публикации, Дата выпуска, \
Дата первой публикации набора данных
tr Yayın tarihi, Yayınlanma tarihi, Oluşturulma tarihi, Yayımlanma tarihi, Yayınlandı, Oluşturma tarihi
sq Data e publikimit, Publikuar
mk Датум на објавување
cy Dyddiad cyhoeddi, Cyhoeddwyd
ar تاريخ النشر, تاريخ الإصدار, تاريخ الإنشاء, نشر في
zh 发布日期, 发布时间, 创建时间, 發布日期, 創建時間, 首次发布日期, 公開日期
ja 公開日, 作成日, 発行日, 登録日
ko 등록일, 발행일, 생성일
""",
    "modified": """
en Modified, Last modified, Last updated, Updated, Date modified, Modification date, Last update, Date updated, \
Update date, Last changed, Data last updated, Revision date, Last revised, Date of last update, Last updated on, \
Updated on, Metadata updated, Last modification
de Geändert, Aktualisiert, Zuletzt aktualisiert, Letzte Aktualisierung, Letzte Änderung, Aktualisiert am, \
Änderungsdatum, Geändert am, Zuletzt geändert, Aktualisierungsdatum, Aktualisierung, Stand, Datenstand, \
Datum der letzten Änderung, Datum der letzten Aktualisierung, Letztes Update
fr Date de modification, Modifié le, Dernière mise à jour, Mis à jour le, Dernière modification, Mise à jour, \
Date de mise à jour, Date de dernière mise à jour, Modifié, Date de dernière modification, Date de révision
es Fecha de modificación, Última modificación, Última actualización, Fecha de actualización, Actualizado, \
Modificado, Fecha de última actualización, Actualizado el, Fecha de la última actualización, \
Fecha última actualización, Actualización
it Data di modifica, Ultima modifica, Ultimo aggiornamento, Data di aggiornamento, Aggiornato il, Aggiornato, \
Data ultimo aggiornamento, Data ultima modifica, Data di ultima modifica, Modificato, Data aggiornamento
pt Data de modificação, Última modificação, Última atualização, Data de atualização, Atualizado em, Atualizado, \
Modificado em, Data da última atualização
ca Data de modificació, Última modificació, Darrera modificació, Darrera actualització, Última actualització, \
Data d'actualització, Actualitzat, Data de l'última actualització
gl Data de modificación, Última modificación, Última actualización, Data de actualización, Actualizado
eu Aldatze-data, Azken aldaketa, Eguneratze-data, Azken eguneratzea, Eguneratua
nl Gewijzigd, Laatst gewijzigd, Wijzigingsdatum, Laatste wijziging, Laatst bijgewerkt, Bijgewerkt, Laatste update, \
Datum laatste wijziging, Datum van wijziging, Gewijzigd op
da Ændret, Sidst ændret, Opdateret, Sidst opdateret, Senest opdateret, Ændringsdato, Seneste opdatering
sv Ändrad, Senast ändrad, Uppdaterad, Senast uppdaterad, Ändringsdatum, Modifierad, Senaste uppdatering
nb Endret, Sist endret, Oppdatert, Sist oppdatert, Endringsdato
nn Endra, Sist endra, Oppdatert, Sist oppdatert
fi Muokattu, Päivitetty, Viimeksi muokattu, Viimeksi päivitetty, Muokkauspäivä, Päivityspäivä, Viimeisin päivitys, \
Viimeisin muutos
pl Data modyfikacji, Data aktualizacji, Ostatnia modyfikacja, Ostatnia aktualizacja, Zaktualizowano, \
Zmodyfikowano, Data ostatniej aktualizacji, Data ostatniej modyfikacji
cs Datum změny, Poslední změna, Aktualizováno, Datum aktualizace, Poslední aktualizace, Změněno, \
Datum poslední změny, Naposledy změněno
sk Dátum zmeny, Posledná zmena, Aktualizované, Dátum aktualizácie, Posledná aktualizácia, Upravené
hu Módosítás dátuma, Utolsó módosítás, Frissítve, Frissítés dátuma, Utolsó frissítés, Módosítva
ro Data modificării, Ultima modificare, Actualizat, Ultima actualizare, Data actualizării, Modificat, Actualizat la
bg Дата на промяна, Последна промяна, Последна актуализация, Дата на актуализация, Обновено, Променено, \
Дата на последна актуализация
el Ημερομηνία τροποποίησης, Τελευταία τροποποίηση, Τελευταία ενημέρωση, Ημερομηνία ενημέρωσης, Ενημερώθηκε, \
Ημερομηνία τελευταίας ενημέρωσης
hr Datum izmjene, Zadnja izmjena, Ažurirano, Zadnje ažuriranje, Datum ažuriranja, Izmijenjeno, Posljednja izmjena, \
Posljednje ažuriranje
sl Datum spremembe, Zadnja sprememba, Posodobljeno, Zadnja posodobitev, Datum posodobitve, Spremenjeno
sr Датум измене, Последња измена, Ажурирано, Последње ажурирање
et Muudetud, Muutmise kuupäev, Viimati muudetud, Uuendatud, Viimati uuendatud
lv Izmaiņu datums, Pēdējās izmaiņas, Atjaunināts, Atjaunošanas datums, Pēdējoreiz atjaunots, Mainīts
lt Pakeitimo data, Paskutinis pakeitimas, Atnaujinta, Atnaujinimo data, Paskutinis atnaujinimas, Keitimo data
ga Dáta modhnaithe, Modhnaithe, Nuashonraithe, Nuashonrú is déanaí
mt Data tal-modifika, Aġġornat
is Breytt, Síðast breytt, Uppfært, Síðast uppfært
uk Дата зміни, Дата оновлення, Оновлено, Останнє оновлення, Змінено, Дата останнього оновлення
ru Дата изменения, Дата обновления, Обновлено, Последнее обновление, Изменено, Последнее изменение, \
Дата последнего изменения, Дата последнего обновления
tr Güncelleme tarihi, Son güncelleme, Değiştirilme tarihi, Son değişiklik, Güncellendi, Son güncelleme tarihi
sq Përditësuar, Data e modifikimit
mk Датум на измена, Последно ажурирање
cy Diweddarwyd, Diweddarwyd ddiwethaf
ar تاريخ التعديل, تاريخ التحديث, آخر تحديث, آخر تعديل
zh 修改日期, 更新日期, 更新时间, 最后更新, 最后修改时间, 更新時間, 最後更新, 最近更新
ja 更新日, 最終更新日, 更新日時, 最終更新
ko 수정일, 갱신일, 최종 수정일
""",
    "publisher": """
en Publisher, Published by, Organization, Organisation, Data provider, Provider, Publishing organization, \
Publishing organisation, Agency, Data publisher, Source organization, Department, Data owner, Owner, Provided by
de Herausgeber, Veröffentlichende Stelle, Datenbereitsteller, Anbieter, Organisation, Bereitsteller, \
Bereitgestellt von, Datenanbieter, Veröffentlicht von, Herausgeberin, Datenhaltende Stelle, Publisher, Behörde
fr Éditeur, Producteur, Organisation, Publié par, Diffuseur, Fournisseur, Organisme, Fournisseur de données, \
Organisme producteur, Producteur de données
es Publicador, Organización, Editor, Organismo, Publicado por, Entidad publicadora, Organismo publicador, \
Órgano publicador, Proveedor, Entidad
it Editore, Organizzazione, Ente, Pubblicato da, Ente titolare, Titolare, Ente pubblicatore, Fornitore
pt Publicador, Editor, Organização, Publicado por, Entidade, Organismo, Fornecedor
ca Publicador, Editor, Organització, Publicat per, Organisme
gl Publicador, Editor, Organización, Publicado por, Organismo
eu Argitaratzailea, Erakundea
nl Uitgever, Publicerende organisatie, Organisatie, Gepubliceerd door, Aanbieder, Verstrekker, Data-eigenaar, \
Eigenaar
da Udgiver, Organisation, Udgivet af, Dataejer
sv Utgivare, Organisation, Publicerad av, Publicist, Leverantör
nb Utgiver, Organisasjon, Publisert av, Dataeier
nn Utgjevar, Organisasjon
fi Julkaisija, Organisaatio, Tuottaja, Tiedon tuottaja
pl Wydawca, Organizacja, Dostawca, Opublikowane przez, Instytucja, Podmiot udostępniający
cs Vydavatel, Poskytovatel, Organizace, Poskytovatel dat, Publikující organizace
sk Vydavateľ, Poskytovateľ, Organizácia
hu Kiadó, Közzétevő, Szervezet, Adatgazda
ro Editor, Publicat de, Organizație, Furnizor, Instituție, Editură
bg Издател, Организация, Публикуван от, Доставчик
el Εκδότης, Οργανισμός, Φορέας, Δημοσιεύτηκε από, Φορέας δημοσίευσης
hr Izdavač, Organizacija, Objavio, Objavljuje
sl Izdajatelj, Organizacija, Založnik, Objavil
sr Издавач, Организација, Izdavač
et Avaldaja, Organisatsioon, Väljaandja, Andmete omanik
lv Publicētājs, Izdevējs, Organizācija
lt Leidėjas, Skelbėjas, Organizacija, Teikėjas, Duomenų teikėjas
ga Foilsitheoir, Eagraíocht
mt Pubblikatur, Organizzazzjoni
is Útgefandi, Stofnun
uk Видавець, Розпорядник інформації, Організація, Розпорядник, Опубліковано ким
ru Издатель, Организация, Владелец, Поставщик данных, Опубликовано кем, Владелец набора данных
tr Yayıncı, Yayınlayan, Kuruluş, Kurum, Yayımlayan, Organizasyon
sq Botuesi, Organizata
mk Издавач, Организација
cy Cyhoeddwr, Sefydliad
ar الناشر, ناشر, المنظمة, الجهة, المؤسسة
zh 发布者, 出版者, 发布机构, 提供机构, 發布者, 提供機關, 来源部门, 數據提供機構
ja 公開者, 発行者, 組織, 提供者, 提供元
ko 발행자, 제공기관, 기관
""",
    "publisher_email": """
en Publisher email, Publisher e-mail, Email of the publisher
de E-Mail des Herausgebers, Herausgeber E-Mail
fr Courriel de l'éditeur, E-mail de l'éditeur
es Correo electrónico del publicador
it Email dell'editore
pt E-mail do publicador
nl E-mail uitgever, E-mailadres uitgever
""",
    "creator": """
en Author, Creator, Authors, Created by, Data author, Originator, Compiled by, Creators, Author name
de Autor, Urheber, Verfasser, Ersteller, Autoren, Autorin, Erstellt von, Erfasser, Autor/in
fr Auteur, Créateur, Auteurs, Créé par
es Autor, Creador, Autores, Creado por, Autoría
it Autore, Creatore, Autori, Creato da
pt Autor, Criador, Autores, Criado por, Autoria
ca Autor, Creador, Autors
gl Autor, Creador, Autores
eu Egilea, Sortzailea
nl Auteur, Maker, Auteurs, Gemaakt door
da Forfatter, Ophavsmand, Skaber
sv Författare, Upphovsman, Skapare, Upphovsperson, Skapad av
nb Forfatter, Opphavsperson, Skaper
nn Forfattar
fi Tekijä, Laatija, Luoja
pl Autor, Twórca, Autorzy
cs Autor, Tvůrce, Autoři
sk Autor, Tvorca, Autori
hu Szerző, Készítő, Létrehozó
ro Autor, Creator, Autori
bg Автор, Създател
el Συγγραφέας, Δημιουργός
hr Autor, Stvaratelj
sl Avtor, Ustvarjalec
sr Аутор
et Autor, Looja
lv Autors, Veidotājs
lt Autorius, Kūrėjas
ga Údar, Cruthaitheoir
mt Awtur
is Höfundur
uk Автор, Творець, Автори
ru Автор, Создатель, Авторы
tr Yazar, Oluşturan, Hazırlayan
sq Autori
mk Автор
cy Awdur
ar المؤلف, مؤلف, الكاتب, المنشئ
zh 作者, 创建者, 創建者
ja 作成者, 著者, 作者
ko 저자, 작성자
""",
    "maintainer": """
en Maintainer, Maintained by, Data steward, Data maintainer, Curator, Custodian, Data custodian, Maintainer name, \
Steward
de Verantwortlich, Datenverantwortlicher, Betreuer, Pflegende Stelle, Verwalter, Zuständige Stelle, \
Verantwortliche Stelle, Wartung durch, Bearbeiter
fr Mainteneur, Responsable, Gestionnaire, Maintenu par, Responsable des données, Administrateur
es Mantenedor, Responsable, Mantenido por, Unidad responsable, Encargado
it Manutentore, Responsabile, Gestore, Referente, Curatore
pt Responsável, Mantenedor, Mantido por, Responsável pela manutenção
ca Mantenidor, Responsable
gl Mantedor, Responsable
eu Arduraduna, Mantentzailea
nl Beheerder, Verantwoordelijke, Onderhouden door, Verantwoordelijke organisatie, Databeheerder
da Vedligeholder, Ansvarlig, Dataansvarlig, Vedligeholdes af
sv Underhållare, Ansvarig, Förvaltare, Informationsägare
nb Vedlikeholder, Ansvarlig, Forvalter
fi Ylläpitäjä, Vastuutaho
pl Opiekun, Osoba odpowiedzialna, Administrator
cs Správce, Kurátor, Kurátor dat
sk Správca
hu Karbantartó, Felelős
ro Responsabil, Administrator, Întreținător
bg Поддържащ, Отговорник
el Συντηρητής, Υπεύθυνος, Διαχειριστής
hr Održavatelj, Odgovorna osoba
sl Skrbnik, Vzdrževalec
sr Одржавалац
et Haldaja, Hooldaja
lv Uzturētājs, Atbildīgais
lt Tvarkytojas, Prižiūrėtojas
ga Cothaitheoir
is Umsjónaraðili, Ábyrgðaraðili
uk Відповідальна особа, Супровідник
ru Ответственный, Ответственное лицо, Сопровождающий
tr Sorumlu, Bakım yapan, Sorumlu kişi
ar المشرف, المسؤول
zh 维护者, 維護者, 管理者, 负责人
ja 管理者, メンテナー, 担当者
ko 관리자, 유지관리자
""",
    "contact": """
en Contact, Contact point, Contact name, Contact person, Point of contact, Contacts, Contact information, \
Contact details
de Kontakt, Ansprechpartner, Kontaktstelle, Kontaktperson, Ansprechperson, Ansprechpartnerin, Auskunft, Kontaktdaten
fr Contact, Point de contact, Personne de contact, Contacts, Coordonnées
es Contacto, Punto de contacto, Persona de contacto, Datos de contacto
it Contatto, Punto di contatto, Contatti, Persona di contatto, Recapiti
pt Contacto, Contato, Ponto de contacto, Ponto de contato, Pessoa de contacto
ca Contacte, Punt de contacte
gl Contacto, Punto de contacto
eu Kontaktua, Harremanetarako
nl Contact, Contactpunt, Contactpersoon, Contactgegevens
da Kontakt, Kontaktpunkt, Kontaktperson, Kontaktoplysninger
sv Kontakt, Kontaktpunkt, Kontaktperson, Kontaktuppgifter, Kontaktinformation
nb Kontakt, Kontaktpunkt, Kontaktperson, Kontaktinformasjon
fi Yhteystiedot, Yhteyshenkilö, Yhteystieto, Yhteyspiste
pl Kontakt, Punkt kontaktowy, Osoba kontaktowa, Dane kontaktowe
cs Kontakt, Kontaktní bod, Kontaktní osoba, Kontaktní údaje
sk Kontakt, Kontaktný bod, Kontaktná osoba, Kontaktné údaje
hu Kapcsolat, Kapcsolattartó, Elérhetőség, Kapcsolattartási pont
ro Contact, Punct de contact, Persoană de contact
bg Контакт, Точка за контакт, Лице за контакт, Контакти
el Επικοινωνία, Σημείο επικοινωνίας, Υπεύθυνος επικοινωνίας, Στοιχεία επικοινωνίας
hr Kontakt, Kontakt točka, Kontakt osoba
sl Kontakt, Kontaktna točka, Kontaktna oseba
sr Контакт, Особа за контакт
et Kontakt, Kontaktpunkt, Kontaktisik, Kontaktandmed
lv Kontakti, Kontaktpunkts, Kontaktpersona, Kontaktinformācija
lt Kontaktai, Kontaktinis asmuo, Kontaktas, Kontaktinė informacija
ga Teagmháil, Pointe teagmhála
mt Kuntatt, Punt ta' kuntatt
is Tengiliður, Samskipti, Hafa samband
uk Контакт, Контактна особа, Контактна точка, Контакти
ru Контакт, Контактное лицо, Контакты, Контактная информация
tr İletişim, İletişim noktası, İlgili kişi, İletişim bilgileri
sq Kontakti
mk Контакт, Лице за контакт
cy Cyswllt
ar الاتصال, جهة الاتصال, نقطة الاتصال, معلومات الاتصال
zh 联系人, 联系方式, 聯絡人, 联系点, 聯絡資訊
ja 連絡先, 問い合わせ先, お問い合わせ先
ko 연락처, 담당자, 문의처
""",
    "contact_email": """
en Contact email, Email, E-mail, Email address, Contact e-mail, E-mail address, Author email, Maintainer email
de E-Mail, E-Mail-Adresse, Kontakt-E-Mail, Mail, Mailadresse, E-Mail Kontakt
fr Courriel, E-mail, Adresse électronique, Adresse e-mail, E-mail de contact, Courriel de contact, Adresse courriel
es Correo electrónico, Email, E-mail, Email de contacto, Correo de contacto, Correo electrónico de contacto
it Email, E-mail, Posta elettronica, Indirizzo e-mail, Email di contatto
pt Email, E-mail, Correio eletrónico, Endereço eletrónico, E-mail de contacto, E-mail de contato
ca Correu electrònic, Adreça electrònica, Correu electrònic de contacte
gl Correo electrónico
eu Posta elektronikoa, Helbide elektronikoa
nl E-mail, E-mailadres, E-mailadres contactpersoon
da E-mail, E-mailadresse, Mailadresse
sv E-post, E-postadress
nb E-post, E-postadresse
fi Sähköposti, Sähköpostiosoite
pl E-mail, Adres e-mail, Poczta elektroniczna
cs E-mail, E-mailová adresa, Kontaktní e-mail
sk E-mail, E-mailová adresa
hu E-mail, E-mail cím
ro E-mail, Adresă de e-mail
bg Имейл, Електронна поща, Ел. поща
el Email, Ηλεκτρονικό ταχυδρομείο, Διεύθυνση ηλεκτρονικού ταχυδρομείου
hr E-pošta, Adresa e-pošte, E-mail
sl E-pošta, E-naslov, Elektronski naslov
sr Е-пошта, Имејл
et E-post, E-posti aadress
lv E-pasts, E-pasta adrese
lt El. paštas, El. pašto adresas, Elektroninis paštas
ga Ríomhphost
mt Posta elettronika, Indirizz elettroniku
is Netfang, Tölvupóstur
uk Електронна пошта, Email
ru Электронная почта, Адрес электронной почты, E-mail
tr E-posta, E-posta adresi
sq Posta elektronike
mk Е-пошта
cy E-bost
ar البريد الإلكتروني
zh 电子邮件, 邮箱, 電子郵件, 聯絡電郵
ja メール, メールアドレス, Eメール
ko 이메일, 전자우편
""",
    "keywords": """
en Keywords, Tags, Keyword, Tag, Key words, Subjects
de Schlagwörter, Schlagworte, Stichwörter, Stichworte, Tags, Schlagwort, Schlüsselwörter
fr Mots-clés, Mots clés, Étiquettes, Mot-clé, Tags, Mots-clefs
es Palabras clave, Etiquetas, Palabra clave, Descriptores
it Parole chiave, Tag, Etichette, Parola chiave
pt Palavras-chave, Palavras chave, Etiquetas, Marcadores, Palavra-chave
ca Paraules clau, Etiquetes
gl Palabras chave, Palabras clave, Etiquetas
eu Gako-hitzak, Hitz gakoak, Etiketak
nl Trefwoorden, Sleutelwoorden, Labels, Tags, Trefwoord, Steekwoorden
da Nøgleord, Emneord, Tags, Stikord
sv Nyckelord, Taggar, Sökord
nb Nøkkelord, Emneord, Stikkord, Merkelapper
nn Nøkkelord, Emneord, Stikkord
fi Avainsanat, Asiasanat, Tunnisteet
pl Słowa kluczowe, Tagi, Słowo kluczowe, Etykiety
cs Klíčová slova, Štítky, Klíčové slovo
sk Kľúčové slová, Štítky
hu Kulcsszavak, Címkék, Kulcsszó
ro Cuvinte cheie, Cuvinte-cheie, Etichete
bg Ключови думи, Етикети, Тагове
el Λέξεις-κλειδιά, Λέξεις κλειδιά, Ετικέτες
hr Ključne riječi, Oznake
sl Ključne besede, Oznake
sr Кључне речи, Ознаке
et Märksõnad, Võtmesõnad, Sildid
lv Atslēgvārdi, Atslēgas vārdi, Birkas
lt Raktažodžiai, Reikšminiai žodžiai, Žymos, Raktiniai žodžiai
ga Eochairfhocail, Lorgfhocail, Clibeanna
mt Kliem ewlieni
is Lykilorð, Efnisorð, Merki
uk Ключові слова, Теги, Мітки
ru Ключевые слова, Теги, Метки
tr Anahtar kelimeler, Etiketler, Anahtar sözcükler
sq Fjalët kyçe, Etiketat
mk Клучни зборови
cy Allweddeiriau, Tagiau
ar الكلمات المفتاحية, الكلمات الدلالية, الوسوم, كلمات مفتاحية
zh 关键词, 关键字, 标签, 關鍵字, 標籤, 關鍵詞
ja キーワード, タグ
ko 키워드, 태그
""",
    "themes": """
en Theme, Themes, Category, Categories, Topic, Topics, Subject, Subject area, Theme category, Groups, Sector, Domain
de Thema, Themen, Kategorie, Kategorien, Rubrik, Themenbereich, Sachgebiet, Gruppen, Themengebiet, Themenfeld
fr Thème, Thèmes, Catégorie, Catégories, Thématique, Thématiques, Rubrique, Domaine, Sujet
es Tema, Temas, Categoría, Categorías, Temática, Materia, Materias, Sector
it Tema, Temi, Categoria, Categorie, Argomento, Argomenti, Tematica, Ambito
pt Tema, Temas, Categoria, Categorias, Assunto, Temática, Área temática
ca Tema, Temes, Categoria, Categories, Temàtica, Matèria
gl Tema, Temas, Categoría, Categorías, Temática
eu Gaia, Gaiak, Kategoria, Kategoriak
nl Thema, Thema's, Categorie, Categorieën, Onderwerp, Onderwerpen
da Tema, Temaer, Kategori, Kategorier, Emne, Emner
sv Tema, Teman, Kategori, Kategorier, Ämne, Ämnen, Ämnesområde
nb Tema, Temaer, Kategori, Kategorier, Emne
fi Teema, Teemat, Kategoria, Kategoriat, Aihe, Aiheet, Aihealue, Luokka
pl Temat, Tematy, Kategoria, Kategorie, Dziedzina
cs Téma, Témata, Kategorie, Tematická oblast
sk Téma, Témy, Kategória, Kategórie
hu Téma, Témák, Kategória, Kategóriák, Témakör
ro Temă, Teme, Categorie, Categorii, Domeniu
bg Тема, Теми, Категория, Категории
el Θέμα, Θέματα, Κατηγορία, Κατηγορίες, Θεματική κατηγορία, Θεματική ενότητα
hr Tema, Teme, Kategorija, Kategorije, Područje
sl Tema, Teme, Kategorija, Kategorije, Področje, Področja
sr Тема, Теме, Категорија, Категорије
et Teema, Teemad, Kategooria, Kategooriad, Valdkond, Valdkonnad
lv Tēma, Tēmas, Kategorija, Kategorijas, Joma
lt Tema, Temos, Kategorija, Kategorijos, Sritis
ga Téama, Téamaí, Catagóir, Catagóirí, Topaic
mt Tema, Temi, Kategorija, Kategoriji
is Þema, Flokkur, Flokkar, Efnisflokkur
uk Тема, Теми, Категорія, Категорії, Тематика
ru Тема, Темы, Категория, Категории, Рубрика, Тематика, Раздел
tr Tema, Temalar, Kategori, Kategoriler, Konu, Konular
sq Kategoria, Tema
mk Тема, Категорија
cy Thema, Categori
ar الموضوع, الفئة, التصنيف, المواضيع, الفئات, القطاع
zh 主题, 类别, 分类, 主題, 類別, 分類, 主题分类, 領域
ja テーマ, カテゴリ, カテゴリー, 分類, 分野
ko 주제, 분류, 카테고리
""",
    "languages": """
en Language, Languages, Dataset language, Language of the data
de Sprache, Sprachen, Sprache des Datensatzes
fr Langue, Langues, Langue des données
es Idioma, Idiomas, Lengua, Lenguaje
it Lingua, Lingue
pt Idioma, Idiomas, Língua
ca Idioma, Idiomes, Llengua, Llengües
gl Idioma, Idiomas, Lingua
eu Hizkuntza, Hizkuntzak
nl Taal, Talen
da Sprog
sv Språk
nb Språk
fi Kieli, Kielet
pl Język, Języki
cs Jazyk, Jazyky
sk Jazyk, Jazyky
hu Nyelv, Nyelvek
ro Limbă, Limba, Limbi
bg Език, Езици
el Γλώσσα, Γλώσσες
hr Jezik, Jezici
sl Jezik, Jeziki
sr Језик
et Keel, Keeled
lv Valoda, Valodas
lt Kalba, Kalbos
ga Teanga, Teangacha
mt Lingwa
is Tungumál
uk Мова, Мови
ru Язык, Языки
tr Dil, Diller
sq Gjuha
mk Јазик
cy Iaith
ar اللغة, لغة, اللغات
zh 语言, 語言
ja 言語
ko 언어
""",
    "license": """
en License, Licence, Licenses, Licences, Terms of use, Licensing, Data license, License title, Usage terms, \
License type, Licence type, Conditions of use, Licensed under, Terms and conditions
de Lizenz, Lizenzen, Nutzungsbedingungen, Lizenzbedingungen, Nutzungslizenz, Datenlizenz, Lizenztyp, \
Lizenz des Datensatzes, Lizenzbestimmungen
fr Licence, Licences, Conditions d'utilisation, Licence d'utilisation, Type de licence, Conditions de réutilisation
es Licencia, Licencias, Condiciones de uso, Términos de uso, Licencia de uso, Tipo de licencia, \
Condiciones de utilización
it Licenza, Licenze, Condizioni d'uso, Termini d'uso, Licenza d'uso, Tipo di licenza, Condizioni di utilizzo
pt Licença, Licenças, Condições de uso, Termos de uso, Condições de utilização, Licença de uso
ca Llicència, Llicències, Condicions d'ús
gl Licenza, Licenzas, Condicións de uso
eu Lizentzia, Lizentziak, Erabilera-baldintzak
nl Licentie, Licenties, Gebruiksvoorwaarden, Licentievoorwaarden
da Licens, Licenser, Vilkår, Licensvilkår, Brugsvilkår
sv Licens, Licenser, Användarvillkor, Licensvillkor
nb Lisens, Lisenser, Vilkår, Bruksvilkår
nn Lisens
fi Lisenssi, Käyttöehdot, Käyttölupa, Lisenssit, Käyttölisenssi
pl Licencja, Licencje, Warunki korzystania, Warunki ponownego wykorzystywania, Warunki wykorzystania
cs Licence, Podmínky užití, Podmínky užívání
sk Licencia, Licencie, Podmienky použitia
hu Licenc, Licencek, Felhasználási feltételek, Licensz
ro Licență, Licența, Licențe, Termeni de utilizare, Condiții de utilizare
bg Лиценз, Лицензи, Условия за ползване
el Άδεια, Άδεια χρήσης, Άδειες, Όροι χρήσης
hr Licenca, Licencija, Dopusnica, Uvjeti korištenja, Dozvola
sl Licenca, Licence, Pogoji uporabe
sr Лиценца, Услови коришћења, Licenca
et Litsents, Litsentsid, Kasutustingimused
lv Licence, Licences, Licencē, Lietošanas noteikumi
lt Licencija, Licencijos, Naudojimo sąlygos
ga Ceadúnas, Téarmaí úsáide
mt Liċenzja
is Leyfi, Notkunarskilmálar, Leyfisskilmálar
uk Ліцензія, Ліцензії, Умови використання
ru Лицензия, Лицензии, Условия использования
tr Lisans, Lisanslar, Kullanım koşulları
sq Licenca, Licensa
mk Лиценца
cy Trwydded
ar الرخصة, الترخيص, رخصة, ترخيص, شروط الاستخدام
zh 许可, 许可证, 许可协议, 授权, 授權, 授權方式, 許可, 许可证书
ja ライセンス, 利用条件, 利用規約
ko 라이선스, 이용조건, 이용허락범위
""",
    "access_rights": """
en Access rights, Access level, Public access level, Access, Access restrictions, Accessibility, Access conditions
de Zugriffsrechte, Zugangsrechte, Zugriff, Zugänglichkeit, Zugriffsbeschränkungen, Zugang
fr Droits d'accès, Accès, Niveau d'accès, Conditions d'accès
es Derechos de acceso, Acceso, Nivel de acceso, Condiciones de acceso
it Diritti di accesso, Accesso, Livello di accesso
pt Direitos de acesso, Acesso, Nível de acesso
ca Drets d'accés, Accés
gl Dereitos de acceso
eu Sarbide-eskubideak
nl Toegangsrechten, Toegang, Toegankelijkheid
da Adgangsrettigheder, Adgang
sv Åtkomsträttigheter, Åtkomst, Tillgänglighet
nb Tilgangsrettigheter, Tilgang, Tilgangsnivå
fi Käyttöoikeudet, Saatavuus
pl Prawa dostępu, Dostęp
cs Přístupová práva, Přístup
sk Prístupové práva, Prístup
hu Hozzáférési jogok, Hozzáférés
ro Drepturi de acces, Acces
bg Права за достъп, Достъп, Права на достъп
el Δικαιώματα πρόσβασης, Πρόσβαση
hr Prava pristupa, Pristup
sl Pravice dostopa, Dostop
et Juurdepääsuõigused, Juurdepääs
lv Piekļuves tiesības, Piekļuve
lt Prieigos teisės, Prieiga
ga Cearta rochtana
is Aðgangsréttindi, Aðgangur
uk Права доступу, Доступ
ru Права доступа, Доступ, Уровень доступа
tr Erişim hakları, Erişim
ar حقوق الوصول, الوصول
zh 访问权限, 存取權限, 开放属性
ja アクセス権
ko 접근 권한
""",
    "rights": """
en Rights, Rights statement, Copyright, Intellectual property rights
de Rechte, Rechtehinweis, Urheberrecht, Copyright, Rechtliche Hinweise
fr Droits, Mentions légales, Droits d'auteur
es Derechos, Derechos de autor
it Diritti, Diritti d'autore
pt Direitos, Direitos de autor
nl Rechten, Auteursrecht
da Rettigheder
sv Rättigheter
nb Rettigheter
fi Oikeudet
pl Prawa
cs Práva
sk Práva
hu Jogok
ro Drepturi
bg Права
el Δικαιώματα
hr Prava
sl Pravice
uk Права
ru Права
tr Haklar
""",
    "frequency": """
en Frequency, Update frequency, Frequency of update, Accrual periodicity, Periodicity, Updated every, \
Frequency of updates, Publication frequency, Update schedule, Refresh rate, Maintenance frequency
de Aktualisierungsfrequenz, Aktualisierungshäufigkeit, Aktualisierungsintervall, Aktualisierungszyklus, Frequenz, \
Periodizität, Turnus, Häufigkeit, Aktualisierungsrhythmus, Aktualisierungsturnus, Updatezyklus
fr Fréquence, Fréquence de mise à jour, Périodicité, Fréquence d'actualisation, Rythme de mise à jour
es Frecuencia, Frecuencia de actualización, Periodicidad, Periodicidad de actualización
it Frequenza, Frequenza di aggiornamento, Periodicità, Frequenza aggiornamento
pt Frequência, Frequência de atualização, Periodicidade, Periodicidade de atualização
ca Freqüència, Freqüència d'actualització, Periodicitat
gl Frecuencia, Frecuencia de actualización, Periodicidade
eu Maiztasuna, Eguneratze-maiztasuna
nl Frequentie, Updatefrequentie, Actualisatiefrequentie, Frequentie van bijwerken, Bijwerkfrequentie, \
Wijzigingsfrequentie
da Frekvens, Opdateringsfrekvens, Opdateringshyppighed
sv Frekvens, Uppdateringsfrekvens, Uppdateringsintervall
nb Frekvens, Oppdateringsfrekvens, Oppdateringshyppighet
fi Päivitystiheys, Päivitysväli, Päivitysfrekvenssi
pl Częstotliwość, Częstotliwość aktualizacji, Okresowość
cs Frekvence, Periodicita aktualizace, Frekvence aktualizace, Periodicita
sk Frekvencia, Periodicita, Periodicita aktualizácie, Frekvencia aktualizácie
hu Gyakoriság, Frissítési gyakoriság, Frissítés gyakorisága
ro Frecvență, Frecvența, Frecvența actualizării, Frecvența de actualizare, Periodicitate
bg Честота, Честота на обновяване, Периодичност, Честота на актуализация
el Συχνότητα, Συχνότητα ενημέρωσης, Περιοδικότητα
hr Učestalost, Učestalost ažuriranja, Periodičnost
sl Pogostost, Pogostost posodabljanja, Pogostost osveževanja
sr Учесталост, Учесталост ажурирања
et Sagedus, Uuendamise sagedus, Uuendamissagedus
lv Biežums, Atjaunošanas biežums, Atjaunināšanas biežums, Periodiskums
lt Dažnumas, Atnaujinimo dažnumas, Periodiškumas
ga Minicíocht, Minicíocht nuashonraithe
mt Frekwenza
is Tíðni, Uppfærslutíðni
uk Частота оновлення, Періодичність, Частота, Частота оновлення набору даних
ru Частота, Периодичность, Частота обновления, Периодичность обновления, Периодичность актуализации
tr Sıklık, Güncelleme sıklığı, Frekans, Güncellenme sıklığı
sq Frekuenca
mk Фреквенција
cy Amlder, Amlder diweddaru
ar التكرار, تكرار التحديث, معدل التحديث, دورية التحديث
zh 更新频率, 频率, 更新頻率, 更新周期, 頻率
ja 更新頻度, 頻度
ko 갱신주기, 업데이트 주기, 주기
""",
    "temporal": """
en Temporal coverage, Time period, Period, Temporal extent, Period covered, Time period covered, Time coverage, \
Date range, Reference period, Temporal, Coverage period
de Zeitraum, Zeitlicher Bezug, Zeitliche Abdeckung, Zeitbezug, Zeitliche Ausdehnung, Bezugszeitraum, Zeitspanne, \
Abgedeckter Zeitraum, Berichtszeitraum
fr Couverture temporelle, Période, Période couverte, Étendue temporelle, Période de couverture, Intervalle temporel
es Cobertura temporal, Período, Periodo, Periodo temporal, Extensión temporal, Rango temporal, Período temporal
it Copertura temporale, Estensione temporale, Periodo, Periodo di riferimento, Periodo temporale
pt Cobertura temporal, Período, Extensão temporal, Período temporal, Período de referência
ca Cobertura temporal, Període
gl Cobertura temporal, Período
eu Denbora-estaldura, Denboraldia, Denborazko estaldura
nl Temporele dekking, Tijdsperiode, Periode, Dekking in tijd, Tijdsbestek
da Tidsmæssig dækning, Periode, Tidsperiode
sv Tidsperiod, Tidsmässig täckning, Period, Tidsomfattning, Tidstäckning
nb Tidsperiode, Tidsrom, Periode, Tidsmessig avgrensning, Tidsmessig dekning
fi Ajallinen kattavuus, Ajanjakso, Aikajakso
pl Zakres czasowy, Okres, Zasięg czasowy, Pokrycie czasowe
cs Časové pokrytí, Období, Časový rozsah, Časové vymezení
sk Časové pokrytie, Obdobie, Časový rozsah
hu Időbeli lefedettség, Időszak, Időbeli kiterjedés
ro Acoperire temporală, Perioadă, Perioada, Perioada acoperită
bg Времеви обхват, Период, Времево покритие
el Χρονική κάλυψη, Περίοδος, Χρονική περίοδος
hr Vremenski obuhvat, Razdoblje, Vremensko razdoblje, Vremenska pokrivenost
sl Časovno obdobje, Obdobje, Časovna pokritost, Časovni obseg
sr Временски период, Период, Временски обухват
et Ajaline katvus, Periood, Ajavahemik, Ajaline ulatus
lv Laika pārklājums, Periods, Laika periods
lt Laikotarpis, Laiko aprėptis, Periodas, Laiko tarpas
ga Clúdach ama, Tréimhse
mt Kopertura temporali, Perjodu
is Tímabil, Tímaþekja
uk Часове охоплення, Період, Часовий період
ru Временной охват, Период, Временной период, Период времени
tr Zamansal kapsam, Dönem, Zaman aralığı, Zaman kapsamı
ar التغطية الزمنية, الفترة الزمنية, الفترة
zh 时间范围, 时间跨度, 時間範圍, 時間涵蓋範圍, 覆盖时间
ja 対象期間, 期間, 時間範囲
ko 시간적 범위, 기간
""",
    "spatial": """
en Spatial coverage, Geographic coverage, Geographical coverage, Location, Spatial extent, Coverage, Place, Region, \
Geographic area, Spatial, Country, Area, Geographic extent, Places, Locations, Territory
de Räumlicher Bezug, Räumliche Abdeckung, Geographische Abdeckung, Raumbezug, Geografische Abdeckung, Region, Ort, \
Räumliche Ausdehnung, Gebiet, Land, Geografischer Bezug, Geltungsbereich
fr Couverture géographique, Couverture spatiale, Territoire, Zone géographique, Lieu, Étendue géographique, Région, \
Étendue spatiale, Pays
es Cobertura geográfica, Cobertura espacial, Ámbito geográfico, Territorio, Ubicación, Región, Extensión geográfica, \
Lugar, País, Ámbito territorial
it Copertura geografica, Copertura spaziale, Estensione geografica, Territorio, Luogo, Area geografica, Regione
pt Cobertura geográfica, Cobertura espacial, Localização, Território, Âmbito geográfico, Região, Área geográfica
ca Cobertura geogràfica, Àmbit geogràfic, Territori, Cobertura espacial
gl Cobertura xeográfica, Ámbito xeográfico, Territorio
eu Estaldura geografikoa, Lurraldea, Eremu geografikoa
nl Geografische dekking, Ruimtelijke dekking, Locatie, Gebied, Plaats, Regio, Geografisch gebied, Dekking
da Geografisk dækning, Geografisk område, Rumlig dækning, Område, Sted
sv Geografisk täckning, Geografiskt område, Rumslig täckning, Plats, Område, Geografisk utbredning
nb Geografisk dekning, Geografisk område, Dekningsområde, Sted, Geografisk avgrensning, Område
fi Maantieteellinen kattavuus, Alueellinen kattavuus, Alue, Sijainti
pl Zasięg geograficzny, Zakres przestrzenny, Zasięg przestrzenny, Obszar, Region, Lokalizacja, Pokrycie przestrzenne
cs Územní pokrytí, Geografické pokrytí, Prostorové pokrytí, Území, Lokalita, Geografické území
sk Územné pokrytie, Geografické pokrytie, Priestorové pokrytie, Územie
hu Földrajzi lefedettség, Területi lefedettség, Térbeli lefedettség, Terület, Helyszín
ro Acoperire geografică, Acoperire spațială, Zonă geografică, Teritoriu, Locație
bg Географски обхват, Пространствен обхват, Географско покритие, Териториален обхват, Регион
el Γεωγραφική κάλυψη, Χωρική κάλυψη, Τοποθεσία, Περιοχή, Γεωγραφική περιοχή
hr Geografski obuhvat, Prostorni obuhvat, Geografsko područje, Prostorna pokrivenost, Lokacija
sl Geografska pokritost, Prostorska pokritost, Območje, Geografsko območje, Lokacija
sr Географски обухват, Просторни обухват, Подручје
et Geograafiline katvus, Ruumiline katvus, Piirkond, Asukoht, Ruumiline ulatus
lv Ģeogrāfiskais pārklājums, Telpiskais pārklājums, Teritorija, Vieta
lt Geografinė aprėptis, Erdvinė aprėptis, Teritorija, Vieta, Geografinė sritis
ga Clúdach geografach, Suíomh, Ceantar
mt Kopertura ġeografika
is Landfræðileg þekja, Svæði, Staðsetning
uk Географічне охоплення, Просторове охоплення, Територія, Регіон, Територіальне охоплення
ru Географический охват, Пространственный охват, Территория, Регион, Место, Территориальный охват
tr Coğrafi kapsam, Mekânsal kapsam, Bölge, Konum, Coğrafi bölge, Ülke
ar التغطية الجغرافية, التغطية المكانية, الموقع, المنطقة, النطاق الجغرافي
zh 空间范围, 地理范围, 地区, 空間範圍, 地理範圍, 地理覆盖范围
ja 対象地域, 空間範囲, 地域
ko 공간적 범위, 지역
""",
    "version": """
en Version, Version number, Release, Edition, Revision
de Version, Versionsnummer, Ausgabe, Auflage
fr Version, Numéro de version, Édition
es Versión, Número de versión, Edición
it Versione, Numero di versione, Edizione
pt Versão, Número da versão, Edição
ca Versió
gl Versión
eu Bertsioa
nl Versie, Versienummer
da Version, Udgave
sv Version, Versionsnummer, Utgåva
nb Versjon, Utgave
fi Versio, Versionumero
pl Wersja, Numer wersji
cs Verze, Číslo verze
sk Verzia
hu Verzió, Verziószám, Változat
ro Versiune, Versiunea
bg Версия
el Έκδοση
hr Verzija, Inačica
sl Različica, Verzija
sr Верзија
et Versioon
lv Versija
lt Versija
ga Leagan
mt Verżjoni
is Útgáfa
uk Версія
ru Версия, Номер версии, Редакция
tr Sürüm, Versiyon
sq Versioni
mk Верзија
cy Fersiwn
ar الإصدار, النسخة
zh 版本, 版本号, 版本號
ja バージョン, 版
ko 버전
""",
    "conforms_to": """
en Conforms to, Standard, Standards, Data standard, Schema, Conformity
de Konform zu, Standard, Standards, Konformität, Datenstandard
fr Conforme à, Norme, Standard, Conformité, Schéma
es Conforme a, Norma, Estándar, Normativa, Conformidad
it Conforme a, Standard, Norma, Conformità
pt Conforme a, Norma, Padrão, Conformidade
nl Voldoet aan, Standaard, Norm
da Overholder, Standard
sv Uppfyller, Standard, Överensstämmer med
nb I samsvar med, Standard
fi Standardi, Noudattaa standardia
pl Zgodność z, Standard
cs Odpovídá standardu, Standard
hu Szabvány
el Συμμορφώνεται με, Πρότυπο
ru Соответствует, Стандарт
tr Uygunluk, Standart
""",
    "provenance": """
en Provenance, Lineage, Source, Data source, Origin, Sources, Data sources
de Herkunft, Quelle, Datenquelle, Quellen, Datenherkunft, Provenienz
fr Provenance, Source, Origine, Sources, Généalogie, Source des données
es Procedencia, Fuente, Origen, Linaje, Fuentes, Fuente de los datos
it Provenienza, Fonte, Origine, Fonti, Genealogia, Fonte dei dati
pt Proveniência, Fonte, Origem, Fontes, Linhagem
ca Procedència, Font, Origen
gl Procedencia, Fonte, Orixe
eu Jatorria, Iturria
nl Herkomst, Bron, Bronnen
da Kilde, Oprindelse
sv Källa, Ursprung, Härkomst
nb Kilde, Opphav
fi Lähde, Alkuperä
pl Źródło, Pochodzenie, Źródło danych
cs Zdroj, Původ, Zdroj dat
sk Zdroj, Pôvod
hu Forrás, Eredet, Adatforrás
ro Sursă, Sursa, Proveniență
bg Източник, Произход
el Πηγή, Προέλευση
hr Izvor, Podrijetlo
sl Vir, Izvor
et Allikas, Päritolu
lv Avots, Izcelsme
lt Šaltinis, Kilmė
is Uppruni, Heimild
uk Джерело, Походження
ru Источник, Происхождение, Источник данных
tr Kaynak, Köken
ar المصدر, مصدر البيانات
zh 来源, 数据来源, 來源, 資料來源
ja 出典, データソース
ko 출처
""",
    "format": """
en Format, File format, Formats, File type, Data format, File formats, Available formats, Resource format
de Format, Dateiformat, Formate, Dateityp, Datenformat, Dateiformate, Datenformate
fr Format, Format de fichier, Formats, Type de fichier, Format des données
es Formato, Formato de archivo, Formatos, Formato de fichero, Tipo de archivo, Tipo de fichero
it Formato, Formato file, Formati, Tipo di file, Formato del file
pt Formato, Formato do ficheiro, Formatos, Formato do arquivo, Tipo de ficheiro
ca Format, Formats, Format del fitxer
gl Formato, Formatos
eu Formatua, Formatuak, Fitxategi-formatua
nl Formaat, Bestandsformaat, Bestandstype, Formaten, Bestandsformaten
da Format, Filformat, Formater
sv Format, Filformat, Filtyp, Filformater
nb Format, Filformat, Formater, Filtype
fi Tiedostomuoto, Muoto, Formaatti, Tiedostomuodot
pl Format, Format pliku, Formaty, Format danych
cs Formát, Formát souboru, Formáty, Typ souboru
sk Formát, Formát súboru, Formáty
hu Formátum, Fájlformátum, Formátumok
ro Format, Formatul fișierului, Formate
bg Формат, Формат на файла, Формати
el Μορφή, Μορφότυπος, Μορφή αρχείου, Τύπος αρχείου
hr Format, Oblik, Format datoteke, Formati
sl Format, Oblika, Format datoteke, Oblika zapisa
sr Формат, Формат датотеке
et Vorming, Formaat, Failivorming, Failivormingud
lv Formāts, Faila formāts, Datnes formāts, Formāti
lt Formatas, Failo formatas, Formatai
ga Formáid, Formáid comhaid
mt Format
is Snið, Skráarsnið
uk Формат, Формат файлу, Формати
ru Формат, Формат файла, Форматы, Формат данных
tr Biçim, Format, Dosya biçimi, Dosya formatı
sq Formati
mk Формат
cy Fformat
ar التنسيق, الصيغة, صيغة الملف, نوع الملف
zh 格式, 文件格式, 数据格式, 檔案格式, 資料格式
ja 形式, ファイル形式, フォーマット, データ形式
ko 형식, 포맷, 파일형식
""",
    "media_type": """
en Media type, MIME type, Mimetype, Content type
de Medientyp, MIME-Typ
fr Type de média, Type MIME
es Tipo de medio, Tipo MIME
it Tipo di media, Tipo MIME
pt Tipo de média, Tipo MIME
nl Mediatype, MIME-type
da Medietype
sv Mediatyp, MIME-typ
nb Medietype, MIME-type
fi Mediatyyppi
pl Typ medium, Typ MIME
cs Typ média, MIME typ
hu Médiatípus
ru Тип MIME, MIME-тип
""",
    "size": """
en Size, File size, Filesize, Download size
de Größe, Dateigröße, Dateigrösse, Grösse, Umfang
fr Taille, Taille du fichier, Poids, Poids du fichier
es Tamaño, Tamaño del archivo, Tamaño del fichero, Tamaño de archivo
it Dimensione, Dimensioni, Dimensione del file, Dimensione file
pt Tamanho, Tamanho do ficheiro, Tamanho do arquivo
ca Mida, Mida del fitxer
gl Tamaño
eu Tamaina
nl Grootte, Bestandsgrootte, Omvang
da Størrelse, Filstørrelse
sv Storlek, Filstorlek
nb Størrelse, Filstørrelse
fi Koko, Tiedoston koko, Tiedostokoko
pl Rozmiar, Rozmiar pliku, Wielkość
cs Velikost, Velikost souboru
sk Veľkosť, Veľkosť súboru
hu Méret, Fájlméret
ro Dimensiune, Mărime, Dimensiunea fișierului
bg Размер, Размер на файла
el Μέγεθος, Μέγεθος αρχείου
hr Veličina, Veličina datoteke
sl Velikost, Velikost datoteke
sr Величина
et Suurus, Maht, Faili suurus
lv Izmērs, Lielums, Faila izmērs
lt Dydis, Failo dydis
ga Méid, Méid comhaid
mt Daqs
is Stærð, Skráarstærð
uk Розмір, Розмір файлу
ru Размер, Размер файла, Объём
tr Boyut, Dosya boyutu
ar الحجم, حجم الملف
zh 大小, 文件大小, 檔案大小
ja サイズ, ファイルサイズ, 容量
ko 크기, 파일크기
""",
    "url": """
en URL, Link, Download, Download URL, Download link, Access URL, File, Links, Downloads, Web address, Data link
de URL, Link, Download, Herunterladen, Download-Link, Datei, Downloads, Dateien, Zugriffs-URL, Links, Internetadresse
fr URL, Lien, Télécharger, Téléchargement, Fichier, Adresse, Lien de téléchargement, URL de téléchargement
es URL, Enlace, Descargar, Descarga, Archivo, Fichero, Enlaces, URL de descarga, Dirección web
it URL, Collegamento, Scarica, Link, File, Scaricare, URL di download, Indirizzo web
pt URL, Ligação, Descarregar, Transferir, Ficheiro, Baixar, Hiperligação, Arquivo
ca URL, Enllaç, Descarrega, Baixada, Descàrrega, Fitxer
gl URL, Ligazón, Descargar, Descarga
eu URL, Esteka, Deskargatu
nl URL, Link, Downloaden, Download, Bestand, Koppeling
da URL, Link, Hent, Download, Fil
sv URL, Länk, Ladda ner, Ladda ned, Nedladdning, Fil
nb URL, Lenke, Last ned, Nedlasting, Fil
fi URL, Linkki, Lataa, Tiedosto
pl URL, Link, Pobierz, Plik, Adres URL, Odnośnik
cs URL, Odkaz, Stáhnout, Soubor, Ke stažení
sk URL, Odkaz, Stiahnuť, Súbor, Na stiahnutie
hu URL, Hivatkozás, Letöltés, Fájl
ro URL, Legătură, Descarcă, Descărcare, Fișier
bg URL, Връзка, Изтегляне, Файл, Изтегли
el URL, Σύνδεσμος, Λήψη, Αρχείο, Κατέβασμα
hr URL, Poveznica, Preuzmi, Datoteka, Preuzimanje
sl URL, Povezava, Prenesi, Prenos, Datoteka
sr URL, Веза, Преузми, Датотека
et URL, Link, Lae alla, Allalaadimine, Fail
lv URL, Saite, Lejupielādēt, Lejupielāde, Fails, Datne
lt URL, Nuoroda, Atsisiųsti, Failas, Parsisiųsti
ga URL, Nasc, Íoslódáil, Comhad
mt URL, Niżżel
is URL, Slóð, Hlekkur, Sækja, Skrá
uk URL, Посилання, Завантажити, Файл
ru URL, Ссылка, Скачать, Загрузить, Файл, Гиперссылка
tr URL, Bağlantı, İndir, Dosya
ar الرابط, رابط, تحميل, تنزيل, الملف
zh 链接, 下载, 网址, 連結, 下載, 文件, 檔案
ja リンク, ダウンロード, ファイル
ko 링크, 다운로드, 파일
""",
}


def _read(lines: str) -> frozenset[str]:
    words = (word for line in lines.strip().splitlines() for word in line.partition(" ")[2].split(","))
    return frozenset(filter(None, map(key, words)))


@cache
def synonyms(field: str) -> frozenset[str]:
    """The keys of a field's words; none where the field is not known.

    >>> "lizenz" in synonyms("license"), synonyms("colour")
    (True, frozenset())
    """
    return _read(_WORDS[field]) if field in _WORDS else frozenset()


@cache
def fields() -> dict[str, tuple[str, ...]]:
    """Which fields a word's key may stand for.

    >>> fields()["licencia"], fields()["email"]
    (('license',), ('contact_email',))
    """
    found: dict[str, tuple[str, ...]] = {}
    for field in _WORDS:
        for one in synonyms(field):
            found[one] = (*found.get(one, ()), field)
    return found
