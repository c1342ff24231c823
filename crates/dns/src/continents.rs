//! Which continent a country is on.

/// The countries of each continent, by their letters (ISO 3166). The registries also say `EU` and
/// `AP` of addresses that belong to no one country.
const CONTINENTS: [([u8; 2], &str); 7] = [
    (
        *b"AF",
        "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR \
         MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW",
    ),
    (*b"AN", "AQ BV GS HM TF"),
    (
        *b"AS",
        "AE AF AM AP AZ BD BH BN BT CC CN CX CY GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK \
         MM MN MO MV MY NP OM PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE",
    ),
    (
        *b"EU",
        "AD AL AT AX BA BE BG BY CH CZ DE DK EE ES EU FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU \
         LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
    ),
    (
        *b"NA",
        "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM \
         PR SV SX TC TT US VC VG VI",
    ),
    (*b"OC", "AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV UM VU WF WS"),
    (*b"SA", "AR BO BR CL CO EC FK GF GY PE PY SR UY VE"),
];

/// The continent of a country.
pub fn continent_of(country: [u8; 2]) -> Option<[u8; 2]> {
    let has = |countries: &str| countries.split(' ').any(|one| one.as_bytes() == country);
    CONTINENTS.iter().find(|(_, countries)| has(countries)).map(|(continent, _)| *continent)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;
    use std::collections::BTreeSet;

    #[rstest]
    #[case(b"IE", Some(*b"EU"))]
    #[case(b"US", Some(*b"NA"))]
    #[case(b"BR", Some(*b"SA"))]
    #[case(b"JP", Some(*b"AS"))]
    #[case(b"AU", Some(*b"OC"))]
    #[case(b"NA", Some(*b"AF"))]
    #[case(b"ZZ", None)]
    fn a_country_is_on_its_continent(#[case] country: &[u8; 2], #[case] continent: Option<[u8; 2]>) {
        assert_eq!(continent_of(*country), continent);
    }

    #[test]
    fn a_country_is_on_one_continent() {
        let all: Vec<&str> = CONTINENTS.iter().flat_map(|(_, countries)| countries.split(' ')).collect();
        let distinct: BTreeSet<&&str> = all.iter().collect();
        assert_eq!(all.len(), distinct.len());
        assert!(all.len() > 245 && all.iter().all(|country| country.len() == 2));
    }
}
