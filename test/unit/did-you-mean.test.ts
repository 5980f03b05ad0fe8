import { describe, expect, it } from 'vitest';
import { didYouMean } from '../../lambdas/did-you-mean.ts';

const KEYS = ['name', 'clusters', 'providers', 'evidence', 'kubeconfigSecret', 'onHostile', 'now'];

describe('didYouMean', () => {
  it.each([
    ['evidance', 'evidence'],
    ['cluster', 'clusters'],
    ['kubeconfig_secret', 'kubeconfigSecret'],
    ['ON-HOSTILE', 'onHostile'],
    ['nam', 'name'],
    ['nmae', 'name'],
    ['nwo', 'now'],
    ['anme', 'name'],
  ])('knows what %s stands for', (word, meant) => {
    expect(didYouMean(word, KEYS)).toBe(meant);
  });

  it.each(['', 'x', 'timeout', '__proto__', 'a'.repeat(101)])('has no guess for %j', (word) => {
    expect(didYouMean(word, KEYS)).toBeUndefined();
  });
});
