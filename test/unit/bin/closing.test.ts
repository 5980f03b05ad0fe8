import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closing, usage } from '../../../bin/terminal/closing.ts';

const TEXT = `
A paragraph of
two lines.

Examples:
  certmarshal audit --kubeconfig a-very-long-name-of-a-file.yaml

Exit status:
  0  done
  1  something could not be read, and that is told in the output`;

describe('the text after the options of a help', () => {
  it('is wrapped, but for commands', () => {
    expect(closing(TEXT, 40)).toBe(`
A paragraph of two lines.

Examples:
  certmarshal audit --kubeconfig a-very-long-name-of-a-file.yaml

Exit status:
  0  done
  1  something could not be read, and
     that is told in the output`);
  });

  it('loses no word, and has no line that is too long but a command', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(words, words, fc.integer({ min: 40, max: 100 }), (about, status, width) => {
        const text = `\n${about.join(' ')}\n\nExit status:\n  1  ${status.join(' ')}`;
        const shown = closing(text, width);
        expect(shown.split(/\s+/)).toEqual(text.split(/\s+/));
        expect(Math.max(...shown.split('\n').map((line) => line.length))).toBeLessThanOrEqual(width);
      }),
    );
  });
});

it('wraps the usage below its first word', () => {
  const text = 'certmarshal approve [options] --because <words> <csr-name>';
  expect(`Usage: ${usage(text, 60)}`).toBe('Usage: certmarshal approve [options] --because <words>\n       <csr-name>');
  expect(usage(text, 100)).toBe(text);
});
