import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { reportOf, rowOf } from '../unit/telemetry/reports.ts';
import { openScreen, type Standing } from './demo-screen.ts';
import { standingAfter } from './demo-standing.ts';

describe('the standing of a cluster of the demo', () => {
  const counts = { cluster: 'dublin', served: 6, nodes: 7 };
  const thief = rowOf({ node: 'worker-17', verdict: 'leave', reason: 'SanNotOwned', hostile: true });

  it.each([
    ['before its first sweep', undefined, counts, 'plain', 'not checked yet'],
    ['with one node left', reportOf({}), counts, 'warn', '1 node waits for a certificate'],
    ['with two', reportOf({}), { ...counts, served: 5 }, 'warn', '2 nodes wait for a certificate'],
    ['with none', reportOf({}), { ...counts, served: 7 }, 'good', 'every node serves with a certificate'],
    ['with a thief', reportOf({ rows: [thief] }), counts, 'bad', 'worker-17 asks for what it does not own'],
    [
      'unreadable',
      reportOf({ readable: false }),
      counts,
      'bad',
      'not readable: the certificate of its API server has expired',
    ],
  ])('%s', (_, report, before, mood, note) => {
    expect(standingAfter(report, before)).toEqual({ ...before, mood, note });
  });
});

describe('the screen of the demo', () => {
  function terminal(columns: number) {
    let written = '';
    const stream = Object.assign(
      new Writable({
        write(chunk, _encoding, done) {
          written += String(chunk);
          done();
        },
      }),
      { isTTY: true, columns },
    );
    return { stream: stream as unknown as NodeJS.WriteStream, written: () => written };
  }

  const standing: Standing = { cluster: 'berlin', served: 59, nodes: 60, mood: 'plain', note: 'unchecked '.repeat(7) };

  it.each([120, 80, 64])('fits into %i columns, and erases as many lines as it drew', (columns) => {
    const { stream, written } = terminal(columns);
    const screen = openScreen(stream, () => '00:00');
    screen.event('berlin', 'bad', 'word '.repeat(40));
    screen.standing([standing]);
    const drawn = written();
    screen.standing([standing]);
    const lines = stripVTControlCharacters(drawn).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    const board = lines.length - 1 - lines.indexOf('');
    expect(written().slice(drawn.length)).toMatch(new RegExp(`^\\u001b\\[${board}A\\u001b\\[0J`));
  });
});
