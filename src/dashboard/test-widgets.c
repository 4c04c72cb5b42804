#include "dashboard/widgets.h"

#include <math.h>
#include <stdio.h>

#include "base/test-assert.h"

#define BYTES_MAX ((size_t)64 * 1024)

#define RECT(x, width, fill)                                                                       \
    "<rect x=\"" #x "\" y=\"0\" width=\"" #width "\" height=\"40\" fill=\"url(#fill-" #fill ")\">"

static bool has(const Buf *out, const char *part) {
    return memmem(out->data, out->len, part, strlen(part)) != NULL;
}

/* --- bars ------------------------------------------------------------------------------------- */

static void test_bar(void **state) {
    static const BarPart parts[] = {
        {STR("<spread>"), 50, 1}, {STR("gpu"), 30.25, 8}, {STR("none"), 0, 2}, {STR("cost"), 7, 9}};
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    widget_bar(&html, parts, ELEMENTS_OF(parts), 100);
    assert_true(has(&out, RECT(0, 500, 1)));
    assert_true(has(&out, RECT(500, 303, 8)));
    assert_true(has(&out, RECT(803, 70, 1))); /* the ninth colour is the first again */
    assert_true(has(&out, "<b>50</b> &lt;spread&gt;"));
    assert_true(has(&out, "<b>30.2</b> gpu"));
    assert_true(has(&out, "<b>0</b> none"));
    assert_int_equal(html.depth, 0);
}

/* Invalid or too large numbers stay within the bar. */
static void test_odd_bars(void **state) {
    static const double values[] = {(double)NAN, (double)INFINITY, -5, 1e300, 0, 101};
    static const double wholes[] = {0, 100, -1, (double)NAN};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(values); i++)
        for (size_t j = 0; j < ELEMENTS_OF(wholes); j++) {
            _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
            const BarPart parts[] = {{STR("a"), values[i], 0}, {STR("b"), values[i], 5}};
            Html html = HTML(&out);

            widget_bar(&html, parts, ELEMENTS_OF(parts), wholes[j]);
            assert_int_equal(buf_error(&out), 0);
            assert_int_equal(html.depth, 0);
            assert_false(has(&out, "width=\"-"));
        }
}

/* --- lines ------------------------------------------------------------------------------------ */

static void test_line(void **state) {
    static const double values[] = {1, (double)NAN, 4, 2};
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    widget_line(&html,
        &(LineChart){.label = "p99", .unit = "ms", .values = values, .n = ELEMENTS_OF(values)});
    assert_true(has(&out, "last <b>2.0 ms</b>, highest <b>4.0 ms</b></figcaption>"));
    assert_true(has(&out, "M400.0 2.0h2L600.0 40.0"));
    assert_int_equal(html.depth, 0);
}

static void test_odd_lines(void **state) {
    static const double none[] = {(double)NAN}, one[] = {0}, below[] = {-1, -2};
    const LineChart lines[] = {
        {.label = "a", .values = none, .n = 0},
        {.label = "a", .values = none, .n = 1},
        {.label = "a", .values = one, .n = 1},
        {.label = "a", .values = below, .n = 2},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
        Html html = HTML(&out);

        widget_line(&html, &lines[i]);
        assert_int_equal(buf_error(&out), 0);
        assert_int_equal(html.depth, 0);
        assert_int_equal(has(&out, "no data yet"), i < 2);
        assert_false(has(&out, "nan"));
    }
}

/* --- other widgets ---------------------------------------------------------------------------- */

static void test_command_is_one_line(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    widget_command(&html, STR("berth explain 'a\nrm -rf /' <x>\xe2\x80\xae"));
    assert_true(has(&out, "<code>berth explain &#39;a\\x0arm -rf /&#39; &lt;x&gt;\\u202e</code>"));
    assert_true(has(&out, "hidden=\"\""));
}

static void test_table(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    widget_table(&html, "pods", "All <pods>", "Pod|#Nodes");
    widget_table_end(&html);
    assert_int_equal(html.depth, 0);
    assert_true(has(&out, "id=\"pods\" data-live=\"\""));
    assert_true(has(&out, "<caption id=\"caption-pods\">All &lt;pods&gt;</caption>"));
    assert_true(
        has(&out, "<th scope=\"col\">Pod</th><th scope=\"col\" class=\"number\">Nodes</th>"));
}

/* Small screens have no row of headings, so each cell except the first has its column's heading. */
static void test_cells_have_labels(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    Html html = HTML(&out);

    (void)state;
    widget_table(&html, "pods", "Pods", "Pod|State|#<Nodes>");
    for (int i = 0; i < 2; i++)
        html_write(&html, "<tr><th scope='row'>a</th><td>b</td><td class='number'>%d</td></tr>", i);
    widget_table_end(&html);
    html_write(&html, "<table><tr><td>x</td><td>y</td></tr></table>");
    assert_int_equal(html.depth, 0);
    for (int i = 0; i < 2; i++) {
        char row[256];

        (void)snprintf(row, sizeof(row),
            "<tr><th scope=\"row\">a</th><td data-label=\"State\">b</td>"
            "<td data-label=\"&lt;Nodes&gt;\" class=\"number\">%d</td></tr>",
            i);
        assert_true(has(&out, row));
    }
    assert_true(has(&out, "<tr><td>x</td><td>y</td></tr>"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bar),
        cmocka_unit_test(test_odd_bars),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_odd_lines),
        cmocka_unit_test(test_command_is_one_line),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_cells_have_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
