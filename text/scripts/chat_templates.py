#!/usr/bin/env python3
"""Writes chat templates with what transformers renders from them.

    chat_templates.py OUT.json

The templates are written here, with the constructs that published ones use. The file is
{"templates": [{name, template, cases: [{messages, tools?, …, expected | error}]}]} with
everything that the template gets beside messages in "variables". Date and time are fixed."""

import datetime, json, sys

from transformers.utils import chat_template_utils

TEMPLATES = {}

TEMPLATES["chatml"] = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are helpful.<|im_end|>\\n' }}{% endif %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

TEMPLATES["qwen2.5"] = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are a helpful assistant.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\nFunctions that may be called are within <tools></tools>:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nAnswer with <tool_call>\\n{\\"name\\": <name>, \\"arguments\\": <object>}\\n</tool_call><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

TEMPLATES["qwen3"] = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(searching=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or (not loop.last and reasoning)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

TEMPLATES["llama2"] = """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""

TEMPLATES["llama3"] = """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""

TEMPLATES["llama3.1"] = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system's message goes first, in any case. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there is none!") }}
{%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {%- if builtin_tools is defined and tool_call.name in builtin_tools %}
            {{- "<|python_tag|>" + tool_call.name + ".call(" }}
            {%- for arg_name, arg_val in tool_call.arguments | items %}
                {{- arg_name + '="' + arg_val + '"' }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- endif %}
            {%- endfor %}
            {{- ")" }}
        {%- else  %}
            {{- '{"name": "' + tool_call.name + '", ' }}
            {{- '"parameters": ' }}
            {{- tool_call.arguments | tojson }}
            {{- "}" }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

TEMPLATES["mistral"] = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}

{#- Roles must alternate, tools aside. #}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}

{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
            {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- else %}
                {{- "]" + eos_token }}
            {%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool_results" or message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id|default("none") + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}
"""

TEMPLATES["gemma"] = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""

TEMPLATES["gemma3"] = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
"""

TEMPLATES["phi3"] = """{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"""

TEMPLATES["zephyr"] = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

TEMPLATES["deepseek"] = """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='', is_first_sp=true) %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first_sp = false %}{%- else %}{% set ns.system_prompt = ns.system_prompt + '\\n\\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<｜User｜>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and 'tool_calls' in message %}{%- set ns.is_tool = false -%}{%- for tool in message['tool_calls'] %}{%- if not ns.is_first %}{{'<｜Assistant｜><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name'] + '\\n' + '```json' + '\\n' + tool['function']['arguments']|tojson + '\\n' + '```' + '<｜tool▁call▁end｜>'}}{%- set ns.is_first = true -%}{%- else %}{{'\\n' + '<｜tool▁call▁begin｜>' + tool['type']}}{%- endif %}{%- endfor %}{{'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'}}{%- endif %}{%- if message['role'] == 'assistant' and 'tool_calls' not in message %}{%- if ns.is_tool %}{{'<｜tool▁outputs▁end｜>' + message['content'] + '<｜end▁of▁sentence｜>'}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\\n<｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<｜tool▁outputs▁end｜>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\\n'}}{% endif %}"""

TEMPLATES["smol-generation"] = """{# The extensions for training masks and loop controls. #}
{%- set limit = 3 -%}
{%- for message in messages -%}
{%- if message.role not in ['system', 'user', 'assistant'] -%}{%- continue -%}{%- endif -%}
{%- if loop.index > limit -%}{%- break -%}{%- endif -%}
{%- if message.role == 'assistant' -%}
<|assistant|>
{% generation %}{{ message.content|default('', true) }}{{ eos_token }}{% endgeneration %}

{% else -%}
<|{{ message.role }}|>
{{ message.content }}

{% endif -%}
{%- endfor -%}
{{ '<|assistant|>\\n' if add_generation_prompt }}"""

TEMPLATES["hermes-macros"] = """{%- macro json_type(spec) -%}
    {%- set names = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} -%}
    {%- if spec.type in names -%}
        {{- names[spec.type] -}}
    {%- elif spec.type == "array" -%}
        {{- "list[" + json_type(spec['items']) + "]" -}}
    {%- elif spec.type is iterable and spec.type is not string -%}
        Union[{%- for t in spec.type -%}{{- json_type({"type": t}) -}}{%- if not loop.last -%}, {% endif -%}{%- endfor -%}]
    {%- else -%}
        Any
    {%- endif -%}
{%- endmacro -%}
{%- macro signature(tool, sep=", ", *, marks="()") -%}{%- endmacro -%}""".replace("""
{%- macro signature(tool, sep=", ", *, marks="()") -%}{%- endmacro -%}""", "") + """
{%- macro signature(f, sep=', ', marks='()') -%}
    {{- f.name ~ marks[0] -}}
    {%- for name, spec in f.parameters.properties|dictsort -%}
        {{- sep if not loop.first -}}{{- name ~ ': ' ~ json_type(spec) -}}
        {%- if name in (f.parameters.required or []) %}{% else %}{{ '?' }}{% endif -%}
    {%- endfor -%}
    {{- marks[1] -}}
{%- endmacro -%}
{{- bos_token -}}
{%- for tool in tools or [] %}
{{ loop.index }}/{{ loop.length }} {{ signature(tool.function, marks='[]') }} {{ tool.function.description|upper }}
{% else %}
No tools.
{% endfor -%}
{%- set roles %}{% for m in messages %}{{ m.role[0]|upper }}{% if not loop.last %}-{% endif %}{% endfor %}{% endset -%}
Roles {{ roles }}: {{ messages|map(attribute='role')|unique|join(', ') }}; {{ messages|rejectattr('role', 'eq', 'user')|list|length }} others.
{% for m in messages %}
{{ '%-10s|%3d|' % (m.role, loop.revindex) }}{{ m.content|string|trim|replace('\\n', ' ')|truncate_not if false else m.content|string|length }}
{%- if loop.previtem is defined and loop.previtem.role == m.role %} again{% endif %}
{%- if loop.nextitem is defined %} before {{ loop.nextitem['role'] }}{% endif %}
{{ loop.cycle('odd', 'even') }}
{% endfor %}""".replace("|truncate_not if false else m.content|string|length", "|length")

TEMPLATES["odds-and-ends"] = """{#- Values, operators and filters that templates use here and there. -#}
{{ 1 + 2 * 3 ** 2 // 4 - 7 % 3 }} {{ 7 / 2 }} {{ 1e3 }} {{ 2 ** 0.5 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 10 / 5 }} {{ 1.0 }} {{ 1e-05 }} {{ 123456789.125 }} {{ 1e16 }} {{ 1e22 }}
{{ true and none or 'x' }} {{ not false }} {{ none }} {{ [1, 'a\\'b', "it's", 2.5, none, true, (1,), {'k': [1]}] }} {{ ("a" "b") }} {{ 'a' ~ 1 ~ none ~ [] }}
{{ 1 < 2 < 3 }} {{ 'a' in 'cat' }} {{ 2 not in [1, 2] }} {{ 'k' in {'k': 1} }} {{ (1, 2) == (1, 2) }} {{ 1 == 1.0 }} {{ 1 == true }} {{ '1' == 1 }}
{{ 'abcdef'[1:4] }} {{ 'abcdef'[::-1] }} {{ 'abcdef'[-2:] }} {{ [1, 2, 3, 4][::2] }} {{ 'héllo'[1] }} {{ [3, 1, 2]|sort|join('-') }} {{ [3, 1, 2]|first }}{{ [3, 1, 2]|last }}
{{ missing }}|{{ missing is defined }}|{{ missing|default('d') }}|{{ ''|default('e', true) }}|{{ messages[99] is undefined }}|{{ missing == other_missing }}|{{ missing|length }}
{{ '  x '|trim }}|{{ 'Hello World'|lower }}|{{ 'hello wORLD'|title }}|{{ 'hello wORLD'|capitalize }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a-b-c'.split('-', 1) }}|{{ 'a-b-c'.rsplit('-', 1) }}
{{ 'x'.join(['a', 'b']) }} {{ 'abc'.upper() }} {{ 'aXbX'.replace('X', 'y', 1) }} {{ 'abc'.find('c') }} {{ 'banana'.count('an') }} {{ '12'.isdigit() }} {{ '3'|int + 1 }} {{ '3.7'|float }} {{ 'zz'|int(9) }} {{ 3.7|int }} {{ 2.567|round(1) }} {{ 2.5|round }} {{ [1, 2]|sum }} {{ [4, 9]|max }}
{{ {'b': 1, 'a': [1, 2.0, null_value|default(none), 'é"\\n']}|tojson }} {{ {'b': 1}|tojson(indent=2) }} {{ []|tojson(indent=2) }} {{ 'é<>&'|tojson }} {{ {}|tojson }}
{{ {'b': 1, 'a': 2}.items()|list }} {{ {'b': 1, 'a': 2}.keys()|list }} {{ {'b': 1}.get('c', 7) }} {{ {'b': 1, 'a': 2}|dictsort }} {{ {'b': 1}['b'] }} {{ {'x y': 3}['x y'] }} {{ dict(a=1, b='c') }}
{{ range(3)|list }} {{ range(1, 8, 3)|list }} {{ 'abc'|list }} {{ 'abc'|reverse }} {{ [1, 2, 3]|reverse|list }} {{ [1, 2]|map('string')|join('+') }} {{ ['b', '', 'a']|select|list }} {{ [1, 2, 3, 4]|select('even')|list }} {{ [1, 2, 3]|reject('odd')|list }}
{{ 'a\\tb\\\\n'|length }} {{ "line\\nbreak" }} {{ 'q"q' }} {{ '<b>'|e }} {{ 'x\\ny'|indent(4) }} {{ 'x\\ny'|indent(2, true) }} {{ 'one two'|wordcount }} {{ [1, [2]]|string }} {{ 'a' * 3 }} {{ [0] * 2 }} {{ [1] + [2] }}
{{ 1 is number }} {{ 1.5 is float }} {{ 1 is integer }} {{ true is boolean }} {{ 'a' is string }} {{ [] is sequence }} {{ {} is mapping }} {{ none is none }} {{ 4 is divisibleby 2 }} {{ 3 is odd }} {{ 'a' is in ['a'] }} {{ 1 is eq 1 }} {{ missing is not defined }} {{ 5 is gt 3 }} {{ true is true }} {{ 'ABC' is upper }}
{%+ if true %}kept {% endif +%}
   {%- for k, v in {'b': 1, 'a': 2}|items %}{{ k }}={{ v }}{{ ',' if not loop.last }}{% endfor %}
   {% raw %}{{ not rendered }} {% endraw %}
{% for a, b in [[1, 2], [3, 4]] if a > 1 %}{{ loop.index }}:{{ a * b }} {% endfor %}
{% set a, b = 1, 'two' %}{{ a }} {{ b }} {% set x = namespace(n=0) %}{% for i in range(5) %}{% set x.n = x.n + i %}{% set a = 99 %}{% endfor %}{{ x.n }} {{ a }}
{% for i in [] %}never{% else %}empty{% endfor %} {% filter upper %}filtered {{ b }}{% endfilter %} {% with t = 5 %}{{ t }}{% endwith %} {{ t is defined }}
{% macro greet(name, greeting='Hi') %}{{ greeting }}, {{ name }}!{{ caller() if caller }}{% endmacro %}{{ greet('A') }} {{ greet(greeting='Yo', name='B') }} {% call greet('C') %}(inner){% endcall %}
{{ messages|map(attribute='content')|map('string')|map('length')|list }} {{ messages|selectattr('role', 'in', ['user', 'system'])|map(attribute='role')|list }} {{ messages|groupby_missing if false }}
last line
""".replace(" {{ messages|groupby_missing if false }}", "")

for broken, template in {
    "add-string-and-none": "{{ 'a' + none }}", "attribute-of-undefined": "{{ missing.attribute }}", "undefined-plus": "{{ missing + 'a' }}",
    "no-such-filter": "{{ 'a'|nonexistent }}", "no-such-test": "{{ 'a' is nonexistent }}", "syntax": "{% if x %}", "syntax-2": "{{ a b }}", "syntax-3": "{% endfor %}", "compare-kinds": "{{ 1 < 'a' }}",
    "append": "{% set l = [] %}{{ l.append(1) }}", "dunder": "{{ ''.__class__.__mro__ }}", "division": "{{ 1 / 0 }}", "call-undefined": "{{ missing() }}", "range": "{{ range(10000000)|list|length }}",
    "index-out": "{{ [1][5] }}|{{ 'a'['b'] }}|{{ none.x }}", "not-iterable": "{% for x in 5 %}{% endfor %}", "unpack": "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "unclosed": "{{ 'abc }}", "macro-arguments": "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
}.items():
    TEMPLATES["case-" + broken] = template

# What templates say by values: each on the first conversation alone.
for value, template in {
    "untaken-filter": "{% if false %}{{ messages | nonexistent(1) | tojson }}{% elif false and messages is nonexistent %}{% else %}x{% endif %}",
    "untaken-test": "{% if true %}a{% elif messages is nonexistent %}b{% else %}{{ 1 if 1 is nonexistent }}{% endif %}",
    "untaken-from-json": "{% for m in messages %}{% if m.content is mapping %}{{ m.content | from_json }}{% else %}{{ m.role }}{% endif %}{% endfor %}",
    "untaken-then": "{{ (messages | nonexistent) if false else 'x' }}{{ 1 | nonexistent if false }}{{ 'a' if true else 1 is nonexistent }}",
    "taken-filter": "{% if true %}{{ 1 | nonexistent }}{% endif %}",
    "taken-else": "{{ 'a' if false else (1 | nonexistent) }}",
    "taken-test": "{% if 1 is nonexistent %}{% endif %}",
    "hard-for-in-if": "{% if false %}{% for x in [] %}{{ x | nonexistent }}{% endfor %}{% endif %}",
    "soft-for-over-in-if": "{% if false %}{% for x in [1] | nonexistent %}{% endfor %}{% endif %}x",
    "hard-for-where": "{% if false %}{% for x in [1] if x is nonexistent %}{% endfor %}{% endif %}",
    "hard-macro": "{% if false %}{% macro m(a=1|nonexistent) %}{% endmacro %}{% endif %}",
    "hard-set": "{% if false %}{% set x %}{{ 1 | nonexistent }}{% endset %}{% endif %}",
    "soft-set": "{% if false %}{% set x = 1 | nonexistent %}{% endif %}x",
    "hard-with": "{% if false %}{% with %}{{ 1 | nonexistent }}{% endwith %}{% endif %}",
    "soft-with-value": "{% if false %}{% with x = 1 | nonexistent %}{% endwith %}{% endif %}x",
    "hard-filter-block": "{% if false %}{% filter nonexistent %}{% endfilter %}{% endif %}",
    "hard-call": "{% if false %}{% call m(1) %}{{ 1 | nonexistent }}{% endcall %}{% endif %}",
    "soft-call": "{% if false %}{% call m(1 | nonexistent) %}{% endcall %}{% endif %}x",
    "hard-generation": "{% if false %}{% generation %}{{ 1 | nonexistent }}{% endgeneration %}{% endif %}",
    "soft-in-for": "{% for x in [1, 2] %}{% if x == 3 %}{{ x | nonexistent }}{% endif %}{{ x }}{% endfor %}",
    "unreached-macro": "{% macro m() %}{{ 1 | nonexistent }}{% endmacro %}x",
    "break-in-generation": "{% for x in [1] %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    "select-nothing": "{{ none | selectattr('a') | list }}{{ none | map('upper') | list }}{{ 0 | select | list }}{{ '' | reject('odd') | list }}{{ none | rejectattr('a', 'eq', 1) | list }}{{ missing | map(attribute='a') | list }}{{ false | selectattr('a') | list }}",
    "select-something": "{{ 5 | selectattr('a') | list }}",
    "unique-none": "{{ none | unique | list }}",
    "items-none": "{{ none | items | list }}",
    "lazy": "{{ 5 | map('upper') is defined }} {{ none | items is defined }} {{ [1] | select('nonexistent') is defined }} {{ [1] | map is defined }} {{ [] | map | list }} {{ [1, 'a'] | map('abs') | first }} {{ 5 | unique is iterable }}",
    "once": "{% set g = [1, 2, 3] | select %}{{ g | list }}{{ g | list }}{% set g = [1, 2, 3] | map('string') %}{{ g | first }}{{ g | join }}{% set g = [1, 2, 3, 4] | select %}{{ 2 in g }}{{ g | list }}",
    "once-loop": "{% set g = [1, 2, 3, 4] | select %}{% for x in g %}{{ x }}{% if x == 2 %}{% break %}{% endif %}{% endfor %}|{{ g | list }}{% set g = [1, 2, 3, 4] | select %}{% for x in g %}{{ x }}{{ loop.last }}{% break %}{% endfor %}|{{ g | list }}{% set g = [1, 2, 3] | reverse %}{% for x in g %}{{ x }}/{{ loop.length }}/{{ loop.revindex }} {% endfor %}{{ g | list }}",
    "generator": "{% set g = [2] | select %}{{ g is iterable }} {{ g is sequence }} {{ g is mapping }} {{ g is string }} {{ g == g }} {{ g | reverse | list }} {{ g[0] is defined }} {{ 'x' if g }}",
    "generator-length": "{{ [1] | select | length }}",
    "generator-last": "{{ [1] | select | last }}",
    "generator-json": "{{ [1] | select | tojson }}",
    "reverse": "{% set r = [1, 2] | reverse %}{{ r | list }}{{ r | list }} {{ 'ab' | reverse }} {{ {'a': 1, 'b': 2} | reverse | list }} {{ missing | reverse | list }} {{ [1, 2] | select | reverse }}",
    "loop-where-sees-body": "{% set n = namespace(k=0) %}{% for x in [1, 2, 3, 4] if n.k < 2 %}{{ x }}{% set n.k = n.k + 1 %}{% endfor %}",
    "loop-where-length": "{% for x in [1, 2, 3, 4] if x != 2 %}{{ x }}{{ loop.index }}{{ loop.length }}{{ loop.revindex0 }}{{ loop.nextitem }}{{ loop.previtem }} {% endfor %}",
    "loop-where-length-late": "{% for x in [1, 2, 3, 4] if x != 2 %}{% if x == 3 %}{{ loop.length }}{{ loop.revindex }}{% endif %}{% endfor %}",
    "loop-else": "{% for x in [1] %}{% continue %}{% else %}A{% endfor %}{% for x in [1] %}{% break %}{% else %}B{% endfor %}{% for x in [1, 2] %}{% if x == 2 %}{% break %}{% endif %}{% else %}C{% endfor %}",
    "loop-changed": "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "tojson-ascii": "{{ {'b': 1, 'a': 'é\x7f😀\u2028<'} | tojson(ensure_ascii=true) }} {{ 'é' | tojson(true) }} {{ 'é' | tojson(ensure_ascii=false) }}",
    "tojson-sort": "{{ {'b': 1, 'a': {'d': 2, 'c': 3}} | tojson(sort_keys=true) }} {{ {3: 1, 1.5: 2, 2: 3} | tojson(sort_keys=true) }} {{ {'b': 1, 'a': [1]} | tojson(true, 2, none, true) }}",
    "tojson-sort-mixed": "{{ {3: 1, 'a': 2} | tojson(sort_keys=true) }}",
    "tojson-separators": "{{ {'a': [1, 2], 'b': 3} | tojson(separators=(',', ':')) }} {{ [1, 2] | tojson(separators=['; ', '=']) }} {{ {'a': [1, 2]} | tojson(indent=1, separators=(' ,', ' : ')) }} {{ [1, 2] | tojson(separators='ab') }}",
    "tojson-separators-three": "{{ [1] | tojson(separators='abc') }}",
    "tojson-indent": "{{ {'a': [1, {}], 'b': []} | tojson(indent='--') }} {{ [1, [2]] | tojson(indent=0) }} {{ [1] | tojson(indent=-3) }} {{ [1] | tojson(indent=true) }} {{ [1] | tojson(indent='') }} {{ [[1]] | tojson(indent=120) }}",
    "tojson-values": "{{ [1e400, -1e400, 1e400 - 1e400, 1e22, 0.1, -0.0, 10 ** 30, true, none, (1, 2)] | tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }}",
    "tojson-undefined": "{{ missing | tojson }}",
    "tojson-view": "{{ {'a': 1}.items() | tojson }}",
    "from-json": "{{ '[1]' | from_json }}",
    "integers": "{{ 123456789012345678901234567890 }} {{ 9 ** 20 }} {{ 2 ** 200 % 7 }} {{ 9223372036854775807 + 1 }} {{ -9223372036854775807 - 2 }} {{ 4611686018427387904 * -2 }} {{ -(2 ** 63) // -1 }} {{ 2 ** 64 - 2 ** 64 + 1 }} {{ -2 ** 63 }} {{ 0 ** 0 }} {{ (-1) ** 12345678901 }} {{ 1 ** (2 ** 80) }} {{ 0 ** (2 ** 80) }} {{ 2 ** -1 }} {{ 10 ** 5000 % 7 }}",
    "integers-divided": "{{ -7 // 2 ** 70 }} {{ 2 ** 70 // -7 }} {{ (2 ** 70) % -7 }} {{ -(2 ** 70) % 7 }} {{ 10 ** 30 / 3 }} {{ 9007199254740993 / 3 }} {{ 10 ** 400 / 10 ** 399 }} {{ 2 ** 70 / 2.0 }} {{ 2 ** 70 * 2 }} {{ 3 * 2 ** 70 }} {{ 2.5 * 2 ** 70 }} {{ 2 ** 70 * 2 ** 70 }} {{ 2 ** 70 + 0.5 }} {{ 2 ** 70 // 0.3 }} {{ true * 2 ** 70 }}",
    "integers-compared": "{{ 1 < 2 ** 70 }} {{ 2 ** 70 < 1e30 }} {{ 2 ** 70 == 2.0 ** 70 }} {{ 9007199254740993 == 9007199254740992.0 }} {{ 10 ** 400 > 1e308 }} {{ -(10 ** 400) < -1e400 }} {{ 10 ** 400 < 1e400 }} {{ [2 ** 70, 1, 1e22, -(2 ** 70)] | sort }} {{ 2 ** 70 in [2 ** 70] }} {{ {10 ** 20: 1}[1e20] }} {{ {1e20: 1}[10 ** 20] }} {{ [2 ** 70, 2 ** 70] | unique | list }} {{ (2 ** 64) == (2 ** 64) }}",
    "integers-filters": "{{ '999999999999999999999' | int }} {{ 1e30 | int }} {{ '1e30' | int }} {{ ('ff' * 20) | int(base=16) }} {{ '-0xFf' | int(base=16) }} {{ '0b101' | int(0, 2) }} {{ '12.7' | int(base=16) }} {{ ' 1_000 ' | int }} {{ '1__0' | int(-1) }} {{ (10 ** 20) | float }} {{ '1_0.5' | float }} {{ '1e400' | float }} {{ 'Infinity' | float }} {{ '1e400' | int }} {{ (-10 ** 20) | abs }} {{ (10 ** 20) | round }} {{ (10 ** 20) | round(0, 'floor') }} {{ [2 ** 63, 1] | sum }} {{ [2 ** 63, 1] | max }} {{ (2 ** 65) | string | length }}",
    "integers-tests": "{{ (2 ** 70) is number }} {{ (2 ** 70) is integer }} {{ (2 ** 70) is float }} {{ (2 ** 70) is odd }} {{ (2 ** 70) is even }} {{ (2 ** 70) is divisibleby 1024 }} {{ (2 ** 70) is eq 2 ** 70 }} {{ (2 ** 70) is boolean }}",
    "integers-formatted": "{{ '%d|%x|%25d|%-25d|%+d|%025d|%s|%.1f|%e' % (10 ** 20, 10 ** 20, 10 ** 20, 10 ** 20, 10 ** 20, 10 ** 20, 10 ** 20, 10 ** 20, 10 ** 20) }} {{ '%d %x' % (1e20, -255) }} {{ [10 ** 20, (10 ** 20,)] }} {{ 10 ** 20 ~ '' }} {{ (10 ** 20) | tojson }} {{ {10 ** 20: 1} | tojson }}",
    "integers-places": "{{ [1, 2, 3][:10 ** 30] }} {{ [1, 2, 3][-(10 ** 30)::10 ** 30] }} {{ [1][10 ** 30] is defined }} {{ 'abc'[:-(10 ** 30)] }} {{ 'a' * -(10 ** 10) }} {{ range(3)[2] }}",
    "integers-repeat-less": "{{ 'a' * -(10 ** 30) }}",
    "integers-repeat": "{{ 'a' * 10 ** 30 }}",
    "integers-too-long": "{{ 10 ** 5000 }}",
    "integers-too-large-for-float": "{{ 10 ** 400 * 1.0 }}",
    "integers-infinite": "{{ 1e400 | int }}",
    "integers-undefined": "{{ missing | int }}",
    "float-undefined": "{{ missing | float }}",
    "numbers": "{{ 0x_ff }} {{ 0b11 }} {{ 0o17 }} {{ 00 }} {{ 0_0 }} {{ 1_000 }} {{ 1_0.2_5 }} {{ 010.5 }} {{ 1E3 }} {{ 1e400 }} {{ [[1, [5, 6]]].0.1.0 }}",
    "numbers-octal": "{{ 010 }}",
    "numbers-underscores": "{{ 1__0 }}",
    "rounds": "{{ 2.5 | round }} {{ 2.675 | round(2) }} {{ 7 | round(1, 'ceil') }} {{ 9007199254740993 | round(0, 'ceil') }} {{ 2.671 | round(2, 'ceil') }} {{ -2.5 | round(0, 'floor') }}",
    "sandbox": "[{{ ''.__class__ }}] {{ [].append is defined }} {% set f = [].append %}{{ {'__x': 1}.__x }} {{ [1].copy() }} {{ {'a': 1}.copy() }} {{ (1,).copy is defined }}",
    "sandbox-dunder": "{{ ''.__class__.__mro__ }}",
    "namespace-underscore": "{{ namespace(_a=1) }}",
    "namespace-set-underscore": "{% set n = namespace() %}{% set n._a = 1 %}",
    "namespace-dict": "{% set n = namespace({'a': 1}, b=2) %}{{ n.a }}{{ n.b }}{% set n = namespace([('a', 3)]) %}{{ n.a }}",
    "dict": "{{ dict([('a', 1)], b=2) }} {{ dict({'a': 1}) }} {{ dict() }} {{ dict([['x', 1], 'yz']) }}",
    "dict-undefined": "{{ dict(missing) }}",
    "map-default": "{{ [{'a': 1}, {}] | map(attribute='a', default=none) | list }} {{ [{'a': 1}, {}] | map(attribute='a', default='d') | list }} {{ [{}] | map(attribute='a.b', default={'b': 2}) | list }}",
    "map-undefined": "{{ [{}] | map(attribute='a.b') | list }}",
    "sum-strings": "{{ ['a', 'b'] | sum(start='') }}",
    "is-filter": "{{ 'tojson' is filter }} {{ 'groupby' is filter }} {{ 'nonexistent' is filter }} {{ 'odd' is test }} {{ 'escaped' is test }} {{ 'nonexistent' is test }}",
    "arguments": "{% macro m(a, b=2, c=3) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }};{% endmacro %}{{ m(*[1, 2]) }}{{ m(1, *[4]) }}{{ m(**{'a': 5, 'd': 6}) }}{{ m(1, c=7, *[8]) }}{{ m(*[1], **{'c': 9}) }}{{ m(b=1, **{'a': 2}) }}{{ m(*'xyzw') }}{{ '%s-%s' | format(*[1, 2]) }}{{ namespace(**{'a': 1}).a }}{{ dict(**{'k': 1}) }}{{ m(*[1],) }}",
    "arguments-twice": "{% macro m(a) %}{% endmacro %}{{ m(1, **{'a': 1}) }}",
    "arguments-named-twice": "{% macro m(a) %}{% endmacro %}{{ m(a=1, **{'a': 1}) }}",
    "arguments-list-behind": "{{ range(*[1], 2) }}",
    "arguments-dict-behind": "{{ dict(**{}, a=1) }}",
    "arguments-dict-list": "{{ dict(**{}, *[]) }}",
    "arguments-lists": "{{ range(*[1], *[2]) }}",
    "arguments-no-mapping": "{{ dict(**[1]) }}",
    "arguments-not-iterable": "{{ range(*1) }}",
    "arguments-undefined": "{{ range(*missing) }}",
    "hash-undefined": "{% set d = {missing: 1} %}{{ d[other] }}{{ missing in {'a': 1} }}{{ {'a': 1}.get(missing, 2) }}{{ [missing, other, 1] | unique | list | length }}{{ d }}",
    "repeat-view": "{{ {'a': 1}.items() * 1 }}",
    "repeat-range": "{{ range(2) * 2 }}",
    "slice-dict": "{{ messages[0][1:] }}",
    "slice-undefined": "{{ missing[1:] }}",
    "indent-none": "{{ none | indent(2) }}",
    "indent-list": "{{ [] | indent(2) }}",
    "callable": "{{ missing is callable }} {{ range is callable }} {{ 1 is callable }} {% for x in [1] %}{{ loop is callable }}{% endfor %}",
    "percent-unused": "{{ 'x' % [1, 2] }} {{ 'x' % {'a': 1} }} {{ '%s' % missing }} {{ 'x' % missing }} {{ 'x' % range(3) }}",
    "percent-unused-tuple": "{{ 'x' % (1,) }}",
    "percent-unused-number": "{{ 'x' % 1 }}",
    "sort-attributes": "{{ [{'a': 2, 'b': 'x'}, {'a': 1, 'b': 'Y'}, {'a': 1, 'b': 'x'}] | sort(attribute='a,b') }} {{ 'cab' | sort(attribute='v') }} {{ [none, none] | sort }} {{ ['b', 'A', 'a'] | sort(case_sensitive=true) }} {{ ['b', 'A', 'a'] | sort(reverse=true) }}",
    "sort-mixed": "{{ [1, none] | sort }}",
    "unique-lists": "{{ [[1], [1]] | unique | list }}",
    "unique-tuples": "{{ [(1, 'a'), (1.0, 'a'), (true, 'a'), ('1', 'a')] | unique | list }} {{ {(1, 2): 'x'}[(1.0, 2)] }}",
    "unique-tuples-of-lists": "{{ [(1, [2])] | unique | list }}",
    "hash-generator": "{% set g = [1] | select %}{{ g in {'a': 1} }}{{ {g: 1}[g] }}{{ g | list }}{% set n = namespace() %}{{ {n: 2}[n] }}",
    "test-if": "{{ (1 is defined if true else 2) }}",
    "test-chain": "{{ 1 is defined is defined }}",
    "test-else": "{{ 2 if 1 is defined else 3 }} {{ 1 is defined and 1 is number or 2 is string }}",
    "views": "{{ range(2) == [0, 1] }} {{ {'a': 1}.keys() == ['a'] }} {{ range(2) == range(2) }}",
}.items():
    TEMPLATES["value-" + value] = template

USER = {"role": "user", "content": "  Hello, wörld!\nHow are you?  "}
ASSISTANT = {"role": "assistant", "content": "I'm fine. <b>\"Thanks\"</b>"}
SYSTEM = {"role": "system", "content": "You are a pirate. "}
THINK = {"role": "assistant", "content": "<think>\nLet me see.\n</think>\n\nParis."}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "abcdef123", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 3, "units": ["C", "F"], "exact": True, "limit": 0.5, "none": None}}}]}
ANSWER = {"role": "tool", "tool_call_id": "abcdef123", "name": "weather", "content": "21.5 °C, sunny"}
PARTS = {"role": "user", "content": [{"type": "text", "text": " What is this? "}, {"type": "image"}]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather & more <now>", "parameters": {
    "type": "object", "properties": {"days": {"type": "integer"}, "city": {"type": "string", "description": "A \"city\""}, "units": {"type": "array", "items": {"type": ["string", "number"]}}}, "required": ["city"]}}}]

CONVERSATIONS = [
    {"messages": [USER]}, {"messages": [USER], "add_generation_prompt": True}, {"messages": [SYSTEM, USER], "add_generation_prompt": True}, {"messages": [USER, ASSISTANT, USER]},
    {"messages": [SYSTEM, USER, ASSISTANT, USER, ASSISTANT]}, {"messages": [USER, USER]}, {"messages": [USER, THINK, USER], "add_generation_prompt": True, "enable_thinking": False}, {"messages": [USER, THINK]},
    {"messages": [SYSTEM, USER], "tools": TOOLS, "add_generation_prompt": True}, {"messages": [USER, CALL, ANSWER], "tools": TOOLS, "add_generation_prompt": True}, {"messages": [USER, CALL, ANSWER, ASSISTANT, USER], "tools": TOOLS + TOOLS},
    {"messages": [PARTS], "add_generation_prompt": True}, {"messages": [ANSWER]}, {"messages": [{"role": "other", "content": "x"}]}, {"messages": [USER, {"role": "assistant", "content": ""}], "date_string": "1 Jan 2025", "tools_in_user_message": False, "tools": TOOLS},
]


class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2025, 3, 9, 7, 5, 2)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    chat_template_utils.datetime = Fixed
    out, failed = [], 0
    for name, template in TEMPLATES.items():
        cases = []
        for c in CONVERSATIONS[:1] if name.startswith(("case-", "value-")) else CONVERSATIONS:
            case = {"messages": c["messages"], "variables": {"bos_token": "<s>", "eos_token": "</s>"} | {k: v for k, v in c.items() if k != "messages"}}
            try:
                compiled = chat_template_utils._compile_jinja_template(template)
                case["expected"] = compiled.render(messages=c["messages"], **case["variables"])
            except Exception as e:
                case["error"] = f"{type(e).__name__}: {e}"
                failed += 1
            cases.append(case)
        out.append({"name": name, "template": template, "cases": cases})
        print(f"{name:28} {sum('expected' in c for c in cases)} rendered, {sum('error' in c for c in cases)} errors: {next((c['error'] for c in cases if 'error' in c), '')}"[:180])
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump({"now": "2025-03-09T07:05:02", "templates": out}, f, ensure_ascii=False, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
