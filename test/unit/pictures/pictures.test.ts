import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bad, faint, strong } from '../../../bin/terminal/paint.ts';
import { auditPicture } from '../../pictures/audit.ts';
import { settled, steady } from '../../pictures/demo.ts';
import { terminalSvg, textOf } from '../../pictures/terminal-svg.ts';

const image = (name: string) => readFileSync(new URL(`../../../docs/images/${name}`, import.meta.url), 'utf8');

describe('pictures of terminals', () => {
  it('have the words, the colours and the places of what was shown', () => {
    const svg = terminalSvg(
      `${strong('berlin')}  ${bad('✖ <gone> & "lost"')}\n\n  ${faint('1 ms')} plain`,
      'a <label>',
    );
    expect(textOf(svg)).toEqual(['berlin ✖ <gone> & "lost"', '1 ms plain']);
    expect(svg).toContain('aria-label="a &lt;label&gt;"');
    expect(svg).toMatch(/<text x="20.0" y="34" fill="#c9d1d9" font-weight="600" textLength="50.4"[^>]*>berlin</);
    expect(svg).toMatch(/<text x="87.2" y="34" fill="#ff7b72" textLength="142.8"[^>]*>✖ &lt;gone/);
    expect(terminalSvg('\u001b[31mone\ntwo\u001b[39m', '')).toMatch(/fill="#ff7b72"[^>]*>two</);
    expect(svg).toMatch(/<text x="36.8" y="74" fill="#8b949e"[^>]*>1 ms</);
    expect(svg).toMatch(/<text x="78.8" y="74" fill="#c9d1d9"[^>]*>plain</);
  });

  it('show what is left when lines were erased', () => {
    expect(settled('one\r\ntwo\r\nthree\r\n\u001b[2A\u001b[0Jfour\r\n')).toBe('one\nfour');
  });

  it('are compared without what differs between two runs', () => {
    const lines = (time: string, took: string, day: string, port: number) => [
      ` ${time}  oslo`,
      `59 approved ${took}, all`,
      `ends ${day}  at https://127.0.0.1:${port}: x`,
    ];
    expect(steady(lines('00:02', 'in 178 ms', '2026-11-24', 40001))).toEqual(
      steady(lines('00:31', 'in one sweep', '2027-01-05', 5123).toReversed()),
    );
  });
});

describe('docs/images', () => {
  it('audit.svg is what an audit prints; npm run pictures makes it anew', () => {
    expect(image('audit.svg')).toBe(auditPicture());
  });
});
