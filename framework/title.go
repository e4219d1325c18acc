package framework

import (
	"strings"
	"unicode"
)

// titled returns the title of a component. Without a title of its own it is made from the name,
// because ChatGPT drops tools without one. "read_tool" becomes "Read tool", "getHTTPStatus" becomes
// "Get HTTP status".
func titled(title, name string) string {
	if title != "" {
		return title
	}
	words := wordsOf(name)
	for i, word := range words {
		if i > 0 && !isAcronym(word) {
			words[i] = strings.ToLower(word)
		}
	}
	text := []rune(strings.Join(words, " "))
	if len(text) > 0 {
		text[0] = unicode.ToUpper(text[0])
	}
	return string(text)
}

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
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if len(word) > 0 && unicode.IsUpper(r) {
			before := word[len(word)-1]
			begins := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(before) || !unicode.IsLower(before) && begins {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}

// isAcronym reports whether a word has more than one letter, and only capitals.
func isAcronym(word string) bool {
	return len(word) > 1 && strings.ToUpper(word) == word && strings.ToLower(word) != word
}
