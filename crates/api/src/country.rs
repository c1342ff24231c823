//! The countries that there are, by their codes of two letters (ISO 3166-1).
//!
//! A code that is none, such as `UK`, would be accepted by every server and match no client ever.

/// The assigned codes.
const CODES: &str = "\
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ \
CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR \
GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT \
JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP \
MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY \
QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR \
TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

/// Whether a country has this code, or whoever likes may give it to a place: the standard leaves some to users,
/// and databases of places have `XK` for Kosovo.
pub(crate) fn is_country(code: &str) -> bool {
    let is_free = matches!(code.as_bytes(), b"AA" | b"ZZ" | [b'Q', b'M'..=b'Z'] | [b'X', b'A'..=b'Z']);
    is_free || CODES.split(' ').any(|known| known == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_assigned_codes_are_there_once_and_in_order() {
        let codes: Vec<&str> = CODES.split(' ').collect();
        assert_eq!(codes.len(), 249);
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{codes:?}");
        assert!(codes.iter().all(|code| code.len() == 2));
    }

    #[test]
    fn slips_are_no_countries_and_users_have_codes_of_their_own() {
        for code in ["UK", "EU", "EN", "QA ", "ie", "A", ""] {
            assert!(!is_country(code), "{code}");
        }
        for code in ["GB", "IE", "ZW", "XK", "XA", "QZ", "ZZ"] {
            assert!(is_country(code), "{code}");
        }
    }
}
