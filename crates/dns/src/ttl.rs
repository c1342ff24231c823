//! Times in seconds as zone files have them: `3600`, or with units `1h30m`.

/// The longest TTL (RFC 2181 section 8).
pub const MAX_TTL: u32 = i32::MAX as u32;

/// Reads a number of seconds, with or without the units `w d h m s`.
pub fn parse_seconds(text: &str) -> Option<u32> {
    let mut total = 0u32;
    let mut number = None::<u32>;
    let mut units = false;
    for octet in text.bytes() {
        if octet.is_ascii_digit() {
            let digit = u32::from(octet - b'0');
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(digit)?);
        } else {
            total = total.checked_add(number.take()?.checked_mul(unit(octet)?)?)?;
            units = true;
        }
    }
    match (number, units) {
        (Some(seconds), _) => total.checked_add(seconds),
        (None, true) => Some(total),
        (None, false) => None,
    }
}

fn unit(octet: u8) -> Option<u32> {
    Some(match octet.to_ascii_lowercase() {
        b's' => 1,
        b'm' => 60,
        b'h' => 3600,
        b'd' => 86_400,
        b'w' => 604_800,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", Some(0))]
    #[case("3600", Some(3600))]
    #[case("1h30m", Some(5400))]
    #[case("1H30M", Some(5400))]
    #[case("1w2d3h4m5s", Some(788_645))]
    #[case("1h5", Some(3605))]
    #[case("4294967295", Some(u32::MAX))]
    #[case("4294967296", None)]
    #[case("9999999w", None)]
    #[case("", None)]
    #[case("h", None)]
    #[case("1x", None)]
    #[case("-1", None)]
    #[case("1hh", None)]
    fn seconds(#[case] text: &str, #[case] expected: Option<u32>) {
        assert_eq!(parse_seconds(text), expected);
    }
}
