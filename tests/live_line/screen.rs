//! Computes the visible content of a screen from the output of a program.

/// The lines of the screen that aren't blank.
pub(super) fn visible(text: &str) -> Vec<String> {
    let (mut lines, mut row, mut column) = (vec![vec![]], 0_usize, 0_usize);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\x08' => column = column.saturating_sub(1),
            '\x1b' => {
                let sequence: String = control(&mut rest);
                let count = sequence.trim_start_matches('[').trim_end_matches(char::is_alphabetic);
                let count = count.parse().unwrap_or(1);
                match sequence.chars().last() {
                    Some('A') => row = row.saturating_sub(count),
                    Some('B') => row += count,
                    // Of the sequences that erase, the tests' programs use only the one for a whole line.
                    Some('K') => line(&mut lines, row).clear(),
                    _ => {}
                }
            }
            c => {
                let line = line(&mut lines, row);
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
    }
    let lines = lines.into_iter().map(String::from_iter).map(|line: String| line.trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Reads the rest of a control sequence, including its last letter.
fn control(rest: &mut impl Iterator<Item = char>) -> String {
    let mut sequence = String::new();
    for c in rest {
        sequence.push(c);
        if c.is_ascii_alphabetic() {
            break;
        }
    }
    sequence
}

fn line(lines: &mut Vec<Vec<char>>, row: usize) -> &mut Vec<char> {
    lines.resize(lines.len().max(row + 1), vec![]);
    &mut lines[row]
}

#[test]
fn cleared_and_overwritten_text_is_not_visible() {
    assert_eq!(visible("one\r\ntwo\r\n"), ["one", "two"]);
    assert_eq!(visible("waiting\r\x1b[2Kwork\r\n"), ["work"]);
    assert_eq!(visible("waiting\rwork\r\n"), ["working"]);
    assert_eq!(visible("a\r\nb\x1b[1A\x1b[2K\rc"), ["c", "b"]);
}
