import { styleText } from 'node:util';

export type Paint = (text: string) => string;

/** Colours a text; `draw` removes the colours where the screen has none. */
const paint =
  (format: Parameters<typeof styleText>[0]): Paint =>
  (text) =>
    styleText(format, text, { validateStream: false });

export const good = paint('green');
export const warn = paint('yellow');
export const bad = paint('red');
export const faint = paint('dim');
export const strong = paint('bold');
