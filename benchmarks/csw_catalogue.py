"""A catalogue service of ISO records as rich as those of geoportals: some 14 kB each, the same in each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.portal.csw import ISO, Catalogue, Record, records

if TYPE_CHECKING:
    from pathlib import Path

PER_PAGE = 100


def text(name: str, value: str) -> str:
    return f"<gmd:{name}><gco:CharacterString>{value}</gco:CharacterString></gmd:{name}>"


def code(name: str, kind: str, value: str) -> str:
    where = "http://standards.iso.org/iso/19139/resources/gmxCodelists.xml"
    return (
        f'<gmd:{name}><gmd:{kind} codeList="{where}#{kind}" codeListValue="{value}">{value}</gmd:{kind}></gmd:{name}>'
    )


def date(kind: str, value: str) -> str:
    when = f"<gmd:date><gco:Date>{value}</gco:Date></gmd:date>"
    return f"<gmd:date><gmd:CI_Date>{when}{code('dateType', 'CI_DateTypeCode', kind)}</gmd:CI_Date></gmd:date>"


def party(element: str, role: str, number: int) -> str:
    address = "".join(
        [
            text("deliveryPoint", f"{number} Harbour Road"),
            text("city", "Port Example"),
            text("postalCode", f"{10_000 + number}"),
            text("country", "Exampleland"),
            text("electronicMailAddress", f"{role}.{number}@example.org"),
        ]
    )
    site = f"<gmd:URL>https://example.org/agencies/{number}</gmd:URL>"
    contact = (
        f"<gmd:phone><gmd:CI_Telephone>{text('voice', '+00 123 4567')}</gmd:CI_Telephone></gmd:phone>"
        f"<gmd:address><gmd:CI_Address>{address}</gmd:CI_Address></gmd:address><gmd:onlineResource>"
        f"<gmd:CI_OnlineResource><gmd:linkage>{site}</gmd:linkage></gmd:CI_OnlineResource></gmd:onlineResource>"
    )
    return (
        f"<gmd:{element}><gmd:CI_ResponsibleParty>{text('individualName', f'Person {number}')}"
        f"{text('organisationName', f'Agency for example {number}')}<gmd:contactInfo><gmd:CI_Contact>{contact}"
        f"</gmd:CI_Contact></gmd:contactInfo>{code('role', 'CI_RoleCode', role)}"
        f"</gmd:CI_ResponsibleParty></gmd:{element}>"
    )


def keywords(title: str, words: list[str]) -> str:
    texts = "".join(text("keyword", word) for word in words)
    thesaurus = f"<gmd:CI_Citation>{text('title', title)}{date('publication', '2008-06-01')}</gmd:CI_Citation>"
    return (
        f"<gmd:descriptiveKeywords><gmd:MD_Keywords>{texts}{code('type', 'MD_KeywordTypeCode', 'theme')}"
        f"<gmd:thesaurusName>{thesaurus}</gmd:thesaurusName></gmd:MD_Keywords></gmd:descriptiveKeywords>"
    )


def extent(number: int) -> str:
    west, south = number % 300 - 150, number % 140 - 70
    sides = {"westBoundLongitude": west, "eastBoundLongitude": west + 5}
    sides |= {"southBoundLatitude": south, "northBoundLatitude": south + 4}
    box = "".join(f"<gmd:{name}><gco:Decimal>{value}.25</gco:Decimal></gmd:{name}>" for name, value in sides.items())
    period = "<gml:beginPosition>1998-01-01</gml:beginPosition><gml:endPosition>2020-12-31</gml:endPosition>"
    return (
        f"<gmd:extent><gmd:EX_Extent>{text('description', 'The coast and what lies before it')}<gmd:geographicElement>"
        f"<gmd:EX_GeographicBoundingBox>{box}</gmd:EX_GeographicBoundingBox></gmd:geographicElement>"
        f"<gmd:temporalElement><gmd:EX_TemporalExtent><gmd:extent><gml:TimePeriod>{period}</gml:TimePeriod>"
        f"</gmd:extent></gmd:EX_TemporalExtent></gmd:temporalElement></gmd:EX_Extent></gmd:extent>"
    )


def online(address: str, protocol: str, name: str) -> str:
    return (
        f"<gmd:onLine><gmd:CI_OnlineResource><gmd:linkage><gmd:URL>{address}</gmd:URL></gmd:linkage>"
        f"{text('protocol', protocol)}{text('name', name)}{text('description', f'{name}, by {protocol}')}"
        f"{code('function', 'CI_OnLineFunctionCode', 'download')}</gmd:CI_OnlineResource></gmd:onLine>"
    )


@dataclass
class FullRecord(Record):
    def xml(self, schema: str) -> str:
        number = int(self.id.rpartition("-")[2])
        spaces = (
            f'xmlns:gmd="{ISO}" xmlns:gco="http://www.isotc211.org/2005/gco" xmlns:gml="http://www.opengis.net/gml"'
        )
        return (
            f"<gmd:MD_Metadata {spaces}>{text('fileIdentifier', self.id)}{code('language', 'LanguageCode', 'eng')}"
            f"{code('characterSet', 'MD_CharacterSetCode', 'utf8')}{code('hierarchyLevel', 'MD_ScopeCode', self.level)}"
            f"{party('contact', 'pointOfContact', number % 40)}"
            f"<gmd:dateStamp><gco:DateTime>{self.modified}</gco:DateTime></gmd:dateStamp>"
            f"{text('metadataStandardName', 'ISO 19115:2003/19139')}{text('metadataStandardVersion', '1.0')}"
            f"{self.identification(number)}{self.distribution()}{self.quality()}</gmd:MD_Metadata>"
        )

    def identification(self, number: int) -> str:
        identifier = f"<gmd:MD_Identifier>{text('code', f'https://example.org/id/{self.id}')}</gmd:MD_Identifier>"
        citation = (
            f"<gmd:citation><gmd:CI_Citation>{text('title', self.title)}{date('creation', '2015-02-03')}"
            f"{date('publication', '2016-04-05')}{date('revision', '2021-06-07')}<gmd:identifier>{identifier}"
            f"</gmd:identifier></gmd:CI_Citation></gmd:citation>"
        )
        frequency = code("maintenanceAndUpdateFrequency", "MD_MaintenanceFrequencyCode", "annually")
        legal = code("accessConstraints", "MD_RestrictionCode", "otherRestrictions")
        licence = text(
            "otherConstraints", "Creative Commons Attribution 4.0: https://creativecommons.org/licenses/by/4.0/"
        )
        parties = party("pointOfContact", "owner", number % 30) + party("pointOfContact", "distributor", number % 20)
        subjects = [f"subject {number * factor % 97}" for factor in range(1, 9)]
        themes = keywords("GEMET - INSPIRE themes, version 1.0", ["Hydrography", "Land cover"])
        return (
            f"<gmd:identificationInfo><gmd:MD_DataIdentification>{citation}"
            f"{text('abstract', f'What {self.title} is about. ' * 12)}{code('status', 'MD_ProgressCode', 'completed')}"
            f"{parties}<gmd:resourceMaintenance><gmd:MD_MaintenanceInformation>{frequency}"
            f"</gmd:MD_MaintenanceInformation></gmd:resourceMaintenance>{keywords('Subjects', subjects)}{themes}"
            f"<gmd:resourceConstraints><gmd:MD_LegalConstraints>{legal}{licence}</gmd:MD_LegalConstraints>"
            f"</gmd:resourceConstraints>{code('language', 'LanguageCode', 'eng')}<gmd:topicCategory>"
            f"<gmd:MD_TopicCategoryCode>inlandWaters</gmd:MD_TopicCategoryCode></gmd:topicCategory>{extent(number)}"
            f"</gmd:MD_DataIdentification></gmd:identificationInfo>"
        )

    def distribution(self) -> str:
        form = f"<gmd:MD_Format>{text('name', 'GeoPackage')}{text('version', '1.3')}</gmd:MD_Format>"
        links = [
            online(f"https://example.org/data/{self.id}.gpkg", "WWW:DOWNLOAD-1.0-http--download", "GeoPackage"),
            online("https://example.org/ows?service=WMS&amp;request=GetCapabilities", "OGC:WMS", f"layer-{self.id}"),
            online("https://example.org/ows?service=WFS&amp;request=GetCapabilities", "OGC:WFS", f"type-{self.id}"),
            online(f"https://example.org/data/{self.id}.html", "WWW:LINK-1.0-http--link", "Page"),
        ]
        return (
            f"<gmd:distributionInfo><gmd:MD_Distribution><gmd:distributionFormat>{form}</gmd:distributionFormat>"
            f"<gmd:transferOptions><gmd:MD_DigitalTransferOptions>{''.join(links)}</gmd:MD_DigitalTransferOptions>"
            f"</gmd:transferOptions></gmd:MD_Distribution></gmd:distributionInfo>"
        )

    def quality(self) -> str:
        lineage = text("statement", f"How {self.title} was made. " * 8)
        return (
            f"<gmd:dataQualityInfo><gmd:DQ_DataQuality><gmd:lineage><gmd:LI_Lineage>{lineage}</gmd:LI_Lineage>"
            f"</gmd:lineage></gmd:DQ_DataQuality></gmd:dataQualityInfo>"
        )


def catalogue(count: int) -> Catalogue:
    return Catalogue([FullRecord(one.id, one.title, one.modified) for one in records(count)], most=PER_PAGE)


def write(folder: Path, count: int) -> int:
    """Write the records as pages, one file each; return their bytes."""
    known, size = catalogue(count).records, 0
    for number in range(0, count, PER_PAGE):
        page = "".join(record.xml(ISO) for record in known[number : number + PER_PAGE])
        size += (folder / f"page-{number:06}.xml").write_bytes(f"<page>{page}</page>".encode())
    return size
