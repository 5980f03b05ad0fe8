import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { embeddedJson, html, markupOf } from '../../../lambdas/page/html.ts';

describe('html', () => {
  it.each([
    ['<b>', '&lt;b&gt;'],
    [`"'&`, '&quot;&#39;&amp;'],
    ['\u202Eabc', String.raw`\u{202e}abc`],
    ['a\u0000b', String.raw`a\u{0}b`],
    ['\uD800', '\uFFFD'],
  ])('escapes %j', (text, expected) => {
    expect(markupOf(html`<p title="${text}">${text}</p>`)).toBe(`<p title="${expected}">${expected}</p>`);
  });

  it('keeps what is HTML already, and lists of it', () => {
    expect(markupOf(html`<ul>${[html`<li>${1}</li>`, html`<li>${'<'}</li>`]}</ul>${undefined}${false}`)).toBe(
      '<ul><li>1</li><li>&lt;</li></ul>',
    );
  });

  it('believes no object that only looks like HTML', () => {
    const forged: unknown = JSON.parse('{"markup":"<script>"}');
    expect(() => markupOf(html`${forged as string}`)).toThrow(TypeError);
  });

  it('cuts what is very long', () => {
    expect(markupOf(html`${'x'.repeat(10_000)}`).length).toBeLessThan(700);
  });
});

describe('embeddedJson', () => {
  it('is the same data, and cannot end its element', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('</script>', '<!--', '<script', ']]>', '\u2028', 'a', '"', '\\')),
        (texts) => {
          const json = markupOf(embeddedJson(texts));
          expect(json).not.toContain('<');
          expect(JSON.parse(json)).toEqual(texts.map((text) => (text === '\u2028' ? String.raw`\u{2028}` : text)));
        },
      ),
      { seed: 6 },
    );
  });
});
