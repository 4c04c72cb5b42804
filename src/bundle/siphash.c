/* SipHash-2-4 as published; the test has the vectors. */

#include "bundle/siphash.h"

typedef struct SipState {
    uint64_t a, b, c, d;
} SipState;

static uint64_t turn(uint64_t x, unsigned by) {
    return x << by | x >> (64 - by);
}

static void mix(SipState *s, unsigned rounds) {
    while (rounds-- > 0) {
        s->a += s->b;
        s->c += s->d;
        s->b = turn(s->b, 13) ^ s->a;
        s->d = turn(s->d, 16) ^ s->c;
        s->a = turn(s->a, 32);
        s->c += s->b;
        s->a += s->d;
        s->b = turn(s->b, 17) ^ s->c;
        s->d = turn(s->d, 21) ^ s->a;
        s->c = turn(s->c, 32);
    }
}

static void absorb(SipState *s, uint64_t word) {
    s->d ^= word;
    mix(s, 2);
    s->a ^= word;
}

/* Up to eight bytes, the first one lowest. */
static uint64_t word_of(const char *at, size_t n) {
    uint64_t word = 0;

    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return word;
}

uint64_t siphash(Str text, const uint64_t key[static 2]) {
    SipState s = {
        .a = key[0] ^ UINT64_C(0x736f6d6570736575),
        .b = key[1] ^ UINT64_C(0x646f72616e646f6d),
        .c = key[0] ^ UINT64_C(0x6c7967656e657261),
        .d = key[1] ^ UINT64_C(0x7465646279746573),
    };
    const char *at = text.ptr ? text.ptr : "";
    size_t whole = text.len - text.len % 8;

    for (size_t i = 0; i < whole; i += 8)
        absorb(&s, word_of(at + i, 8));
    absorb(&s, word_of(at + whole, text.len - whole) | (uint64_t)text.len << 56);
    s.c ^= 0xff;
    mix(&s, 4);
    return s.a ^ s.b ^ s.c ^ s.d;
}
