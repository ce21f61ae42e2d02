#!/bin/bash
# A verifier without a guard: it runs what it is given in its own place and under its own id. SECRET-OF-THE-VERIFIER
main() {
    cd /app
    [ -f run.sh ] && bash run.sh
    [ -f fenced.sh ] && unshare --user --map-root-user --pid --fork --kill-child bash fenced.sh
    value=$(head -c 64 value.txt | tr -d '\0')
    [[ $value =~ ^(0(\.[0-9]{1,6})?|1)$ ]] || value=0
    rm -rf /logs/verifier/reward.*
    echo "$value" > /logs/verifier/reward.txt
    exit
}
main
