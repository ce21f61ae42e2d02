#!/bin/bash
# Words are made here, so that nothing large lies in the repository.
seq 1 9000 | awk '{print "w" ($1 * 7919) % 3001}' > /tmp/words.txt
start=$(date +%s%N)
answer=$(./count < /tmp/words.txt) || exit 1
end=$(date +%s%N)
[ "$answer" = 3001 ] || { echo "wrong answer: $answer"; exit 1; }
echo "score: $((9000 * 1000000000 / (end - start)))"
