// Writes src/regex/unicode-table.c: the general categories, the scripts and the simple case folding
// of Unicode as Go's package unicode has them, which is what Kubernetes' patterns mean.
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

// A category of one letter is all those of two that begin with it; unicode.c says so too.
func checkWhole(name string) {
	for c := rune(0); c <= unicode.MaxRune; c++ {
		in := false
		for part, table := range unicode.Categories {
			in = in || len(part) == 2 && part != "LC" && part[:1] == name && unicode.Is(table, c)
		}
		if in != unicode.Is(unicode.Categories[name], c) {
			fmt.Fprintf(os.Stderr, "category %s is not the sum of its parts at U+%04X\n", name, c)
			os.Exit(1)
		}
	}
}

type fold struct {
	lo, hi, delta, step rune
}

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
		if next := unicode.SimpleFold(c); next != c && !extend(c, next-c) {
			all = append(all, fold{c, c, next - c, 1})
		}
	}
	return all
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintf(out, "/* Written by src/regex/unicode-table.go. Unicode %s. */\n\n", unicode.Version)
	fmt.Fprint(out, "/* clang-format off */\n\n#include \"regex/unicode.h\"\n\n#include \"base/cleanup.h\"\n\n")

	type table struct {
		name    string
		from, n int
	}
	var tables []table
	n := 0
	fmt.Fprint(out, "static const RegexRange ranges[] = {\n")
	list := func(names []string, of map[string]*unicode.RangeTable) {
		for _, name := range names {
			all := spans(of[name])
			fmt.Fprintf(out, "    /* %s */\n", name)
			for i := 0; i < len(all); i += 4 {
				fmt.Fprint(out, "   ")
				for _, s := range all[i:min(i+4, len(all))] {
					fmt.Fprintf(out, " {0x%04x, 0x%04x},", s.lo, s.hi)
				}
				fmt.Fprint(out, "\n")
			}
			tables = append(tables, table{canonical(name), n, len(all)})
			n += len(all)
		}
	}
	categories := slices.DeleteFunc(slices.Sorted(maps.Keys(unicode.Categories)), func(name string) bool {
		if len(name) == 1 {
			checkWhole(name)
		}
		return len(name) == 1 || name == "LC"
	})
	list(categories, unicode.Categories)
	list(slices.Sorted(maps.Keys(unicode.Scripts)), unicode.Scripts)
	fmt.Fprint(out, "};\n\nconst RegexUnicodeTable regex_unicode_tables[] = {\n")
	for _, t := range tables {
		fmt.Fprintf(out, "    {\"%s\", ranges + %d, %d},\n", t.name, t.from, t.n)
	}
	fmt.Fprint(out, "};\nconst size_t regex_n_unicode_tables = ELEMENTS_OF(regex_unicode_tables);\n\n")
	fmt.Fprint(out, "const RegexUnicodeAlias regex_unicode_aliases[] = {\n")
	for _, name := range slices.Sorted(maps.Keys(unicode.CategoryAliases)) {
		fmt.Fprintf(out, "    {\"%s\", \"%s\"},\n", canonical(name), canonical(unicode.CategoryAliases[name]))
	}
	fmt.Fprint(out, "};\nconst size_t regex_n_unicode_aliases = ELEMENTS_OF(regex_unicode_aliases);\n\n")
	fmt.Fprint(out, "const RegexFold regex_folds[] = {\n")
	all := folds()
	slices.SortFunc(all, func(a, b fold) int { return int(a.lo - b.lo) })
	for _, f := range all {
		fmt.Fprintf(out, "    {0x%04x, 0x%04x, %d, %d},\n", f.lo, f.hi, f.delta, f.step)
	}
	fmt.Fprint(out, "};\nconst size_t regex_n_folds = ELEMENTS_OF(regex_folds);\n")
}
