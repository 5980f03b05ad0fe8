import { styleText } from 'node:util';

/** How a stream is written to: with colours only where a person looks and has not asked for none (no-color.org). */
export interface Style {
  readonly good: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly strong: (text: string) => string;
}

export function styleFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Style {
  const coloured = stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  const paint = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    coloured ? styleText(format, text, { validateStream: false }) : text;
  return {
    good: paint('green'),
    warn: paint('yellow'),
    bad: paint('red'),
    faint: paint('dim'),
    strong: paint('bold'),
  };
}
