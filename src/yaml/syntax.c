/* Replaces libfyaml's messages about scalars, indicators and contexts by what users did wrong: a
 * tab, a bracket, a quote, wrong indentation. Uses the first row whose text is in the message. */

#include "yaml/yaml-internal.h"

#define SPACES STR("indent with spaces")
#define INDENT STR("check the indentation of this line and the one above")
#define INDENT_TEXT STR("or indent the lines that continue the text")
#define ITEM                                                                                       \
    { STR("a list item cannot start here"), STR("start the list on a line of its own") }
#define QUOTE STR("put the value in quotes")

static const struct {
    Str words;
    SyntaxError error;
} explanations[] = {
    {STR("tab "), {STR("a tab cannot indent a line"), SPACES}},
    {STR("double-quoted scalar without"), {STR("the closing \" is missing"), STR_NULL}},
    {STR("single-quoted scalar without"), {STR("the closing ' is missing"), STR_NULL}},
    {STR("marker in double"), {STR("the closing \" is missing before this line"), STR_NULL}},
    {STR("marker in single"), {STR("the closing ' is missing before this line"), STR_NULL}},
    {STR("flow sequence with invalid extra"), {STR("no [ before this ]"), STR_NULL}},
    {STR("flow mapping with invalid extra"), {STR("no { before this }"), STR_NULL}},
    {STR("missing comma in flow"), {STR("a comma is missing before this"), STR_NULL}},
    {STR("invalid comment "), {STR("a comment needs a space before its #"), STR_NULL}},
    {STR("invalid nested block mapping"),
        {STR("a second \": \" in one line"), STR("put the value in quotes if it has a colon")}},
    {STR("invalid multiline "),
        {STR("a key must be on one line"), STR("check the indentation of the next line")}},
    {STR("scalar at the end of block sequence"),
        {STR("expected \"- \", as in the lines above"), INDENT}},
    {STR("expected '-'"), {STR("expected \"- \", as in the lines above"), INDENT}},
    {STR("did not find expected key"), {STR("expected a key"), INDENT}},
    {STR("did not find expected node content"),
        {STR("expected a value"), STR("write null where there is none")}},
    {STR("could not find expected ':'"), {STR("expected a colon after this key"), INDENT}},
    {STR("missing ':'"), {STR("expected a colon after this key"), INDENT}},
    {STR("wrongly indented double"), {STR("the closing \" is missing"), INDENT_TEXT}},
    {STR("wrongly indented single"), {STR("the closing ' is missing"), INDENT_TEXT}},
    {STR("wrongly indented"), {STR("wrong indentation"), INDENT}},
    {STR("invalid indentation"), {STR("wrong indentation"), INDENT}},
    {STR("wrong indendation"), {STR("wrong indentation"), INDENT}}, /* libfyaml's spelling */
    {STR("invalid mapping in plain"), {STR("wrong indentation"), INDENT}},
    {STR("invalid block mapping key on same line"), {STR("a second key in one line"), STR_NULL}},
    {STR("block sequence entries not allowed"), ITEM},
    {STR("block sequence on the same line"), ITEM},
    {STR("invalid value after mapping"), {STR("expected the next key"), INDENT}},
    {STR("missing document start"), {STR("expected the end of the document"), INDENT}},
    {STR("with invalid comma"), {STR("nothing before this comma"), STR_NULL}},
    {STR("block scalar no linebreak"),
        {STR("the text after | or > starts on the next line"), STR_NULL}},
    {STR("invalid escape"), {STR("unknown escape in a double-quoted string"),
                                STR("write \\\\ for a backslash, or use single quotes")}},
    {STR("scalar has invalid"), {STR("invalid escape in a double-quoted string"), STR_NULL}},
    {STR("low surrogate"), {STR("invalid escape in a double-quoted string"), STR_NULL}},
    {STR("plain scalar cannot start"), {STR("a value cannot start with this character"), QUOTE}},
    {STR("invalid trailing content"), {STR("expected nothing after the closing quote"), STR_NULL}},
    {STR("Did not find expected stream end"), {STR("expected the end of the text"), INDENT}},
};

SyntaxError syntax_explain(Str message) {
    for (size_t i = 0; i < ELEMENTS_OF(explanations); i++)
        if (str_contains_nocase(message, explanations[i].words))
            return explanations[i].error;
    return (SyntaxError){.text = message};
}
