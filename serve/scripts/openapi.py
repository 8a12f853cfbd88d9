"""The server's OpenAPI document is a valid one. Its address is the argument."""

import json
import sys
import urllib.request

import openapi_spec_validator

with urllib.request.urlopen(sys.argv[1] + "/openapi.json") as answer:
    openapi_spec_validator.validate(json.load(answer))
print("openapi.py: valid")
