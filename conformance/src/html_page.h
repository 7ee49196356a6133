// The fixed parts of the HTML report: style sheet and filter.
#pragma once

#include <string_view>

namespace qtx::conformance {

inline constexpr std::string_view kHtmlHead = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>QTX conformance</title>
<style>
:root { color-scheme: light dark;
  --back: #fbfbfa; --card: #ffffff; --text: #1c1e21; --faint: #646a73; --line: #dfe2e6;
  --good: #1a6e3c; --good-back: #ddf2e4; --bad: #a3201d; --bad-back: #fbe1df;
  --mute: #5c5a2e; --mute-back: #f0eed4; --accent: #2457a6; }
@media (prefers-color-scheme: dark) { :root {
  --back: #15171a; --card: #1d2024; --text: #e4e6e9; --faint: #9aa1ab; --line: #33383f;
  --good: #8fdcab; --good-back: #17391f; --bad: #ff9f99; --bad-back: #4a1a18;
  --mute: #d9d49a; --mute-back: #38361c; --accent: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--back);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; }
h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; }
a { color: var(--accent); }
p { margin: .4rem 0; }
code, .n, .diagnosis { font-family: ui-monospace, monospace; font-size: .9em; }
code, .diagnosis { overflow-wrap: anywhere; }
.faint { color: var(--faint); font-weight: normal; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
caption { text-align: left; color: var(--faint); font-size: .85em; }
th, td { padding: .25rem .7rem; text-align: left; font-weight: normal; white-space: nowrap; }
thead th { color: var(--faint); font-size: .85em; }
td.n, th.n { text-align: right; }
.summary { width: 100%; background: var(--card); border: 1px solid var(--line); }
.summary tr + tr, .summary tbody tr { border-top: 1px solid var(--line); }
.summary tbody th { font-weight: 600; }
td.good { color: var(--good); } td.bad { color: var(--bad); font-weight: 700; }
td.mute { color: var(--mute); } td.zero { color: var(--faint); opacity: .6; }
.chip { display: inline-block; padding: 0 .6em; border-radius: 1em; font-size: .85em;
  white-space: nowrap; }
.chip.good { color: var(--good); background: var(--good-back); }
.chip.bad { color: var(--bad); background: var(--bad-back); }
.chip.mute { color: var(--mute); background: var(--mute-back); }
.filter { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: .5rem; z-index: 1;
  align-items: center; margin-top: 1rem; padding: .6rem 0; background: var(--back); }
.filter[hidden] { display: none; }
.filter input[type=search] { font: inherit; padding: .2rem .5rem; width: 14rem; max-width: 60vw;
  color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: .3rem; }
details { background: var(--card); border: 1px solid var(--line); border-bottom: 0; }
details:last-of-type { border-bottom: 1px solid var(--line); }
details[open] { padding-bottom: .6rem; }
details > :not(summary) { margin-left: 1rem; margin-right: 1rem; }
summary { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline;
  padding: .3rem .8rem; cursor: pointer; }
summary .faint { margin-left: auto; font-size: .85em; }
.diagnosis { white-space: pre-wrap; }
.tables { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
.bar { display: inline-block; height: .7em; background: var(--accent); }
</style>
</head>
<body>
)html";

// Without scripts the whole list shows. With them, a list that has anything bad starts with that
// only.
inline constexpr std::string_view kHtmlTail = R"html(<script>
'use strict';
const form = document.querySelector('.filter');
const boxes = [...form.querySelectorAll('input[type=checkbox]')];
const find = document.getElementById('find');
const sections = [...document.querySelectorAll('section')].map(section => ({
  cases: [...section.querySelectorAll('details')], none: section.querySelector('.none')}));
function apply() {
  const wanted = new Set(boxes.filter(box => box.checked).map(box => box.value));
  const text = find.value.trim().toLowerCase();
  for (const section of sections) {
    let shown = 0;
    for (const entry of section.cases) {
      entry.hidden = !wanted.has(entry.dataset.outcome) ||
        (text !== '' && !entry.textContent.toLowerCase().includes(text));
      if (!entry.hidden) ++shown;
    }
    section.none.hidden = shown > 0 || section.cases.length === 0;
  }
}
const bad = boxes.filter(box => box.parentElement.classList.contains('bad'));
if (bad.length > 0) for (const box of boxes) box.checked = bad.includes(box);
form.hidden = false;
form.addEventListener('input', apply);
form.addEventListener('submit', event => event.preventDefault());
apply();
</script>
</body>
</html>
)html";

}  // namespace qtx::conformance
