import { describe, expect, it } from 'vitest';
import { didYouMean } from '../../../lambdas/config/did-you-mean.ts';

const KEYS = ['name', 'clusters', 'providers', 'evidence', 'kubeconfigSecret', 'onHostile'];

describe('didYouMean', () => {
  it.each([
    ['evidance', 'evidence'],
    ['cluster', 'clusters'],
    ['kubeconfig_secret', 'kubeconfigSecret'],
    ['ON-HOSTILE', 'onHostile'],
    ['nam', 'name'],
  ])('knows what %s stands for', (word, meant) => {
    expect(didYouMean(word, KEYS)).toBe(meant);
  });

  it.each(['', 'x', 'timeout', '__proto__', 'a'.repeat(101)])('has no guess for %j', (word) => {
    expect(didYouMean(word, KEYS)).toBeUndefined();
  });
});
