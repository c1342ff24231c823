//! Counts in words.

/// A count with its noun, such as `1 zone` or `12,000 record sets`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    match noun.strip_suffix('y') {
        Some(stem) if number != 1 => format!("{} {stem}ies", grouped(number)),
        _ => format!("{} {noun}{plural}", grouped(number)),
    }
}

/// A number with a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0, "zone", "0 zones")]
    #[case(1, "zone", "1 zone")]
    #[case(999, "zone", "999 zones")]
    #[case(12_000, "record set", "12,000 record sets")]
    #[case(1_234_567, "query", "1,234,567 queries")]
    fn counts_read_well(#[case] number: u64, #[case] noun: &str, #[case] text: &str) {
        assert_eq!(count(number, noun), text);
    }
}
