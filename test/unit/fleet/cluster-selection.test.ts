import { describe, expect, it } from 'vitest';
import { isWanted, nameMayBeWanted, type Selection } from '../../../lambdas/fleet/cluster-selection.ts';

const ALL: Selection = { include: {}, exclude: {} };

describe('isWanted', () => {
  it.each<[string, Partial<Selection>, string, Record<string, string>, boolean]>([
    ['everything, when nothing is said', {}, 'dublin', {}, true],
    ['what a name includes', { include: { names: ['a', 'dub*'] } }, 'dublin', {}, true],
    ['not what no name includes', { include: { names: ['dub'] } }, 'dublin', {}, false],
    ['not what a name is only a part of', { include: { names: ['*lin'] } }, 'dublin-2', {}, false],
    ['what has all tags', { include: { tags: { a: '1', b: '2' } } }, 'x', { a: '1', b: '2', c: '3' }, true],
    ['not what lacks a tag', { include: { tags: { a: '1', b: '2' } } }, 'x', { a: '1' }, false],
    ['not what has another value', { include: { tags: { a: '1' } } }, 'x', { a: '2' }, false],
    ['not what inherits a tag', { include: { tags: { constructor: '' } } }, 'x', {}, false],
    ['not what lacks the name of both', { include: { names: ['y'], tags: { a: '1' } } }, 'x', { a: '1' }, false],
    ['not what a name excludes', { exclude: { names: ['x*'] } }, 'x1', {}, false],
    ['not what a tag excludes', { exclude: { tags: { a: '1' } } }, 'x1', { a: '1' }, false],
    ['what name and tags exclude only together', { exclude: { names: ['x'], tags: { a: '1' } } }, 'x', {}, true],
    ['not what name and tags exclude', { exclude: { names: ['x'], tags: { a: '1' } } }, 'x', { a: '1' }, false],
  ])('wants %s', (_, selection, name, tags, wanted) => {
    expect(isWanted({ ...ALL, ...selection }, name, tags)).toBe(wanted);
    // The question before the cluster is described never says no to what is wanted.
    expect(nameMayBeWanted({ ...ALL, ...selection }, name) || !wanted).toBe(true);
  });
});

describe('nameMayBeWanted', () => {
  it.each<[string, Partial<Selection>, boolean]>([
    ['may, when nothing is said', {}, true],
    ['cannot, when no name includes it', { include: { names: ['x'], tags: { a: '1' } } }, false],
    ['cannot, when its name alone excludes it', { exclude: { names: ['dub*'] } }, false],
    ['may, when tags decide whether it is excluded', { exclude: { names: ['dub*'], tags: { a: '1' } } }, true],
    ['may, when tags decide whether it is included', { include: { tags: { a: '1' } } }, true],
  ])('%s', (_, selection, may) => {
    expect(nameMayBeWanted({ ...ALL, ...selection }, 'dublin')).toBe(may);
  });
});
