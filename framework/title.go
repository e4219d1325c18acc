package framework

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// titled returns the title of a component. Without a title of its own it is made from the name,
// because ChatGPT drops tools without one. "read_tool" becomes "Read tool", "getHTTPStatus" becomes
// "Get HTTP status". A name that is not an identifier, such as "Bob's menu (draft)", and a name
// without letters and digits stay as they are, except for the first letter.
func titled(title, name string) string {
	if title != "" {
		return title
	}
	if !isIdentifier(name) {
		return capitalized(name)
	}
	words := wordsOf(name)
	for i, word := range words {
		if i > 0 && !isAcronym(word) {
			words[i] = strings.ToLower(word)
		}
	}
	return capitalized(strings.Join(words, " "))
}

// resourceTitle returns the title of a resource or a template. A name with a dot is a file name or a
// host name, and stays as it is. Other names lose their escapes and are read as in titled.
func resourceTitle(title, name string) string {
	if text, err := url.PathUnescape(name); err == nil && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		name = text
	}
	if title == "" && strings.Contains(name, ".") {
		return name
	}
	return titled(title, name)
}

func capitalized(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// isIdentifier reports whether name has words, and nothing between them but what identifiers have.
func isIdentifier(name string) bool {
	return strings.ContainsFunc(name, inWord) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !inWord(r) && !strings.ContainsRune("_-./", r) })
}

// inWord reports whether r is part of a word. Marks belong to the letter before them.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// wordsOf splits a name at characters that are neither letters nor digits, and where lower case
// changes to upper case.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
		}
		word = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		if !inWord(r) {
			end()
			continue
		}
		if len(word) > 0 && unicode.IsUpper(r) {
			before := word[len(word)-1]
			begins := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !pluralEnd(runes[i+1:])
			if unicode.IsLower(before) || !unicode.IsLower(before) && begins {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}

// pluralEnd reports whether rest begins with the "s" of a plural such as "IDs".
func pluralEnd(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLower(rest[1]))
}

// isAcronym reports whether a word has more than one letter, and only capitals, except for the "s"
// of a plural.
func isAcronym(word string) bool {
	word = strings.TrimSuffix(word, "s")
	return len(word) > 1 && strings.ToUpper(word) == word && strings.ToLower(word) != word
}
