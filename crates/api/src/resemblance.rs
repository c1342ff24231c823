//! Which word a misspelt word stands for.

/// Whether a word is another one misspelt: other capitals, a dash or underscore more or less, a letter
/// missing, doubled or replaced, or two letters that changed places. Of a long word it may have two.
pub(crate) fn resembles(written: &str, meant: &str) -> bool {
    let (written, meant) = (folded(written), folded(meant));
    let most = (meant.len() / LETTERS_PER_SLIP).clamp(1, 2);
    !written.is_empty() && written.len().abs_diff(meant.len()) <= most && distance(&written, &meant) <= most
}

/// How long a word is that may have one slip.
const LETTERS_PER_SLIP: usize = 6;

fn folded(word: &str) -> Vec<char> {
    word.chars().filter(|letter| !['-', '_'].contains(letter)).flat_map(char::to_lowercase).collect()
}

/// The optimal string alignment distance: how many letters are inserted, deleted, replaced or change places with
/// their neighbour. The caller bounds the lengths.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, wanted) in other.iter().enumerate() {
            let replaced = row[j] + usize::from(letter != wanted);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *letter == other[j - 1] && one[i - 1] == *wanted {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::resembles;

    #[rstest]
    #[case("kubi.zoen", "kubi.zone", true)]
    #[case("kubi.zon", "kubi.zone", true)]
    #[case("kub.zon", "kubi.zone", false)]
    #[case("Servcie", "Service", true)]
    #[case("service", "Service", true)]
    #[case("Secret", "Service", false)]
    #[case("TLSPolicy", "DNSPolicy", false)]
    #[case("GatewayClass", "Gateway", false)]
    #[case("domianName", "domainName", true)]
    #[case("domain_name", "domainName", true)]
    #[case("domain", "domainName", false)]
    #[case("ServceRuote", "ServiceRoute", true)]
    #[case("", "x", false)]
    fn one_slip_of_the_pen_is_recognised(#[case] written: &str, #[case] meant: &str, #[case] expected: bool) {
        assert_eq!(resembles(written, meant), expected);
    }
}
