// Writes src/regex/unicode-table.c: the general categories, the scripts and the simple case folding
// of Unicode as Go's package unicode has them, because Kubernetes matches patterns with Go.
//
//	go run src/regex/unicode-table.go > src/regex/unicode-table.c
package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
)

type span struct{ lo, hi rune }

func spans(table *unicode.RangeTable) []span {
	var all []span
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			all = append(all, span{lo, hi})
			return
		}
		for c := lo; c <= hi; c += stride {
			all = append(all, span{c, c})
		}
	}
	for _, r := range table.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.lo - b.lo) })
	merged := all[:0]
	for _, s := range all {
		if n := len(merged); n > 0 && merged[n-1].hi+1 == s.lo {
			merged[n-1].hi = s.hi
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// The first letter big, the others small, nothing between the words.
func canonical(name string) string {
	name = strings.NewReplacer("_", "", " ", "", "-", "").Replace(name)
	return strings.ToUpper(name[:1]) + strings.ToLower(name[1:])
}

// class.c derives a category of one letter from those of two letters that begin with it, and Cn
// (unassigned) from all others. Fails where that is wrong.
func checkDerived(name string, isPart func(string) bool) {
	for c := rune(0); c <= unicode.MaxRune; c++ {
		in := false
		for part, table := range unicode.Categories {
			in = in || len(part) == 2 && part != "LC" && isPart(part) && unicode.Is(table, c)
		}
		if in != unicode.Is(unicode.Categories[name], c) != (name == "Cn") {
			fmt.Fprintf(os.Stderr, "category %s is not the sum of its parts at U+%04X\n", name, c)
			os.Exit(1)
		}
	}
}

type fold struct {
	lo, hi, delta, step rune
}

// The first of those that differ only in case.
func lowest(c rune) rune {
	least := c
	for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// Each code point that is the lowest of those that differ only in case, with each of the others.
func folds() []fold {
	var all []fold
	extend := func(c, delta rune) bool {
		for back := 1; back <= 2 && back <= len(all); back++ {
			f := &all[len(all)-back]
			step := c - f.hi
			if f.delta == delta && (step == f.step || f.lo == f.hi && step <= 2) && step <= 2 {
				f.hi, f.step = c, step
				return true
			}
		}
		return false
	}
	for c := rune(0); c <= unicode.MaxRune; c++ {
		for next := unicode.SimpleFold(c); next > c; next = unicode.SimpleFold(next) {
			if lowest(next) == c && !extend(c, next-c) {
				all = append(all, fold{c, c, next - c, 1})
			}
		}
	}
	return all
}

// Writes items separated by spaces, in lines of at most 100 columns.
func wrap(out *bufio.Writer, items []string) {
	line := "   "
	for _, item := range items {
		if len(line)+1+len(item) > 100 {
			fmt.Fprintln(out, line)
			line = "   "
		}
		line += " " + item
	}
	fmt.Fprintln(out, line)
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	var aliases, foldings []string
	var tables strings.Builder
	column := 0
	write := func(text string) { // a new line, inside of a string as well, where the next byte does not fit
		for _, c := range text {
			if column == 99 {
				tables.WriteString("\"\n    \"")
				column = 5
			}
			tables.WriteRune(c)
			column++
		}
	}
	number := func(value rune) { // base 26, the lowest digit first; capital letters but for the last
		for ; value >= 26; value /= 26 {
			write(string('A' + value%26))
		}
		write(string('a' + value))
	}
	list := func(of map[string]*unicode.RangeTable) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			head := fmt.Sprintf("{\"%s\", \"", canonical(name))
			if column == 0 || column+len(head)+1 > 98 {
				tables.WriteString("\n   ")
				column = 3
			}
			tables.WriteString(" " + head)
			column += len(head) + 1
			next := rune(0)
			for _, s := range spans(of[name]) {
				number(s.lo - next)
				number(s.hi - s.lo)
				next = s.hi + 1
			}
			if column > 97 {
				tables.WriteString("\"\n    \"")
				column = 5
			}
			tables.WriteString("\"},")
			column += 3
		}
	}
	categories := maps.Clone(unicode.Categories)
	for name := range unicode.Categories {
		if len(name) == 1 {
			checkDerived(name, func(part string) bool { return part[:1] == name })
		} else if name == "Cn" {
			checkDerived(name, func(part string) bool { return part != name })
		}
		if len(name) == 1 || name == "LC" || name == "Cn" {
			delete(categories, name)
		}
	}
	list(categories)
	list(unicode.Scripts)
	for _, name := range slices.Sorted(maps.Keys(unicode.CategoryAliases)) {
		aliases = append(aliases, fmt.Sprintf("{\"%s\", \"%s\"},", canonical(name), canonical(unicode.CategoryAliases[name])))
	}
	all := folds()
	slices.SortFunc(all, func(a, b fold) int { return int(a.lo - b.lo) })
	for _, f := range all {
		foldings = append(foldings, fmt.Sprintf("{0x%x, 0x%x, %d, %d},", f.lo, f.hi, f.delta, f.step))
	}

	fmt.Fprintf(out, "/* Written by src/regex/unicode-table.go. Unicode %s. */\n\n", unicode.Version)
	fmt.Fprint(out, "/* clang-format off */\n\n#include \"regex/class.h\"\n\n")
	fmt.Fprintf(out, "const RegexUnicodeTable regex_unicode_tables[] = {%s\n};\n", tables.String())
	fmt.Fprint(out, "const size_t regex_n_unicode_tables = ELEMENTS_OF(regex_unicode_tables);\n")
	fmt.Fprintf(out, "const size_t regex_n_unicode_categories = %d;\n\n", len(categories))
	fmt.Fprint(out, "const RegexUnicodeAlias regex_unicode_aliases[] = {\n")
	wrap(out, aliases)
	fmt.Fprint(out, "};\nconst size_t regex_n_unicode_aliases = ELEMENTS_OF(regex_unicode_aliases);\n\n")
	fmt.Fprint(out, "const RegexFold regex_folds[] = {\n")
	wrap(out, foldings)
	fmt.Fprint(out, "};\nconst size_t regex_n_folds = ELEMENTS_OF(regex_folds);\n")
}
