import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPageRooms } from '../../../lambdas/kubernetes/page-room.ts';

describe('createPageRooms', () => {
  it('always has room for small pages', () => {
    const pageRoom = createPageRooms(100, 10);
    expect(pageRoom().take(110)).toBe(true);
    expect([pageRoom().take(10), pageRoom().take(10), pageRoom().take(11)]).toEqual([true, true, false]);
  });

  it('gives back what a page took, once', () => {
    const pageRoom = createPageRooms(100, 10);
    const first = pageRoom();
    expect([first.take(60), first.take(50), pageRoom().take(11)]).toEqual([true, true, false]);
    first.release();
    first[Symbol.dispose]();
    expect(first.take(1)).toBe(false);
    const second = pageRoom();
    expect([second.take(110), second.isRefused]).toEqual([false, true]);
    second.release();
    expect([pageRoom().take(109), pageRoom().take(12)]).toEqual([true, false]);
  });

  it('never holds more than the room and what each page has for itself, whatever comes when', () => {
    const step = fc.tuple(fc.nat(9), fc.integer({ min: 1, max: 80 }), fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const pageRoom = createPageRooms(100, 10);
        const pages = new Map<number, { readonly page: ReturnType<typeof pageRoom>; held: number }>();
        for (const [id, bytes, ends] of steps) {
          const one = pages.get(id) ?? { page: pageRoom(), held: 0 };
          pages.set(id, one);
          if (!ends && one.page.take(bytes)) one.held += bytes;
          else {
            one.page.release();
            pages.delete(id);
          }
          const shared = [...pages.values()].reduce((sum, { held }) => sum + Math.max(0, held - 10), 0);
          expect(shared).toBeLessThanOrEqual(100);
        }
        for (const { page } of pages.values()) page.release();
        expect(pageRoom().take(110)).toBe(true);
      }),
      { seed: 5, numRuns: 300 },
    );
  });
});
