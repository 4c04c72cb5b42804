#include "kube/pod-path.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_path_of_a_pod(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(256);

    pod_path(&out, STR("default"), STR("web-1"));
    assert_string_equal(url_text(&out), "/api/v1/namespaces/default/pods/web-1");
    buf_reset(&out);
    pod_path(&out, STR("../x"), STR("a?b"));
    assert_string_equal(url_text(&out), "/api/v1/namespaces/..%2Fx/pods/a%3Fb");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_path_of_a_pod)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
