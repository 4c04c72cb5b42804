/*
 * The algorithm that all kernels share: 64 bytes per step, one bit for each byte.
 *
 * Included once by each kernel, which must define these first:
 *
 *     KERNEL                    the attributes of its functions
 *     PIECE_SIZE                bytes that it handles at once, 8 to 32
 *     block_read(bytes)         what 64 bytes hold, as a ScanBlock
 *     block_stops(bytes)        which of 64 bytes scan_plain() stops at
 *     piece_stops(bytes)        the same for PIECE_SIZE bytes
 *     bits_prefix_xor(bits)     bit i: whether an odd number of bits 0..i is set
 *     bits_count(bits)
 *
 * So it is compiled for that kernel's instruction set. Function pointers would cost a call every 64
 * bytes. There is no include guard, because each kernel is one file.
 *
 * A step takes the same time for any block in which the value cannot end: if the block closes fewer
 * brackets than are open, two counts are enough. A quote after an odd number of backslashes does
 * not count, neither in a string nor outside (where JSON has no backslashes).
 */

#define WALK_STEP 64u
#define EVEN_BITS UINT64_C(0x5555555555555555)

/* State passed from one block to the next. */
typedef struct Walk {
    uint64_t in_string; /* all ones: the next block starts inside a string */
    uint64_t escaped;   /* 1: the next block's first byte is escaped */
    uint64_t depth;
} Walk;

/*
 * Returns the bytes after an odd number of backslashes. Adding the first bit of a run to the run
 * carries a bit to the place after its end. Runs that start at even and at odd places are added
 * separately, so that the place of this bit tells whether the run's length is odd.
 */
static inline KERNEL uint64_t walk_escaped(Walk *walk, uint64_t backslashes) {
    uint64_t from_before = walk->escaped, starts, even_sum, odd_sum;

    backslashes &= ~from_before;
    starts = backslashes & ~(backslashes << 1);
    even_sum = backslashes + (starts & EVEN_BITS);
    walk->escaped = __builtin_add_overflow(backslashes, starts & ~EVEN_BITS, &odd_sum);
    return (even_sum & ~backslashes & ~EVEN_BITS) | (odd_sum & ~backslashes & EVEN_BITS) |
           from_before;
}

/* Returns the offset after the bracket that brings the depth to 0, or 0. */
static inline KERNEL size_t walk_find_end(uint64_t depth, uint64_t opens, uint64_t closes) {
    for (; closes != 0; closes &= closes - 1) {
        uint64_t below = (closes & -closes) - 1;

        depth--;
        if (depth + bits_count(opens & below) == 0)
            return (size_t)__builtin_ctzll(closes) + 1;
    }
    return 0;
}

/* Handles one block. Returns the offset after the end of the value in it, or 0. */
static inline KERNEL size_t walk_block(Walk *walk, const char *bytes) {
    ScanBlock block = block_read(bytes);
    uint64_t quotes = block.quotes & ~walk_escaped(walk, block.backslashes);
    uint64_t inside = bits_prefix_xor(quotes) ^ walk->in_string;
    uint64_t opens = block.opens & ~inside, closes = block.closes & ~inside;
    uint64_t n_closes = bits_count(closes);

    if (n_closes >= walk->depth) {
        size_t end = walk_find_end(walk->depth, opens, closes);

        if (end > 0)
            return end;
    }
    walk->in_string = 0 - (inside >> 63);
    walk->depth += bits_count(opens) - n_closes;
    return 0;
}

static KERNEL size_t walk_container(Str text) {
    Walk walk = {0};
    char last[WALK_STEP] = {0}; /* zeros are neither brackets nor quotes */
    size_t at, end;

    for (at = 0; text.len - at >= WALK_STEP; at += WALK_STEP) {
        end = walk_block(&walk, text.ptr + at);
        if (end > 0)
            return at + end;
    }
    if (at == text.len)
        return 0;
    memcpy(last, text.ptr + at, text.len - at);
    end = walk_block(&walk, last);
    return end > 0 ? at + end : 0;
}

/* Returns the unescaped quotes of one block. */
static inline KERNEL uint64_t walk_quotes(Walk *walk, const char *bytes) {
    ScanBlock block = block_read(bytes);

    return block.quotes & ~walk_escaped(walk, block.backslashes);
}

static KERNEL size_t walk_string(Str text) {
    Walk walk = {0};
    char last[WALK_STEP] = {0};
    uint64_t quotes;
    size_t at;

    for (at = 0; text.len - at >= WALK_STEP; at += WALK_STEP) {
        quotes = walk_quotes(&walk, text.ptr + at);
        if (quotes != 0)
            return at + (size_t)__builtin_ctzll(quotes);
    }
    if (at == text.len)
        return SIZE_MAX;
    memcpy(last, text.ptr + at, text.len - at);
    quotes = walk_quotes(&walk, last);
    return quotes != 0 ? at + (size_t)__builtin_ctzll(quotes) : SIZE_MAX;
}

static inline KERNEL bool is_plain(char c) {
    return (signed char)c >= ' ' && c != '"' && c != '\\';
}

/* Handles the last bytes, fewer than 64, of a text that is plain up to @at. An incomplete last
 * piece is read together with the plain bytes before it. */
static inline KERNEL size_t walk_plain_end(Str text, size_t at) {
    for (; text.len - at >= PIECE_SIZE; at += PIECE_SIZE) {
        uint64_t stops = piece_stops(text.ptr + at);

        if (stops != 0)
            return at + (size_t)__builtin_ctzll(stops);
    }
    if (at < text.len && text.len >= PIECE_SIZE) {
        uint64_t stops = piece_stops(text.ptr + text.len - PIECE_SIZE);

        return stops != 0 ? text.len - PIECE_SIZE + (size_t)__builtin_ctzll(stops) : text.len;
    }
    while (at < text.len && is_plain(text.ptr[at]))
        at++;
    return at;
}

static KERNEL size_t walk_plain(Str text) {
    size_t at;

    for (at = 0; text.len - at >= WALK_STEP; at += WALK_STEP) {
        uint64_t stops = block_stops(text.ptr + at);

        if (stops != 0)
            return at + (size_t)__builtin_ctzll(stops);
    }
    return walk_plain_end(text, at);
}

static KERNEL uint64_t walk_stops(const char *bytes) {
    return block_stops(bytes);
}
