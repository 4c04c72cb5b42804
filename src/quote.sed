# A text file as a C string literal, one line of it per line.
s/[\\"]/\\&/g
s/^/"/
s/$/\\n"/
