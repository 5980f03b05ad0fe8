import { describe, expect, it } from 'vitest';
import { remedyAtTheKeyboard } from '../../../bin/doctor/at-the-keyboard.ts';
import { hubRoles, requireRoleArn } from '../../../bin/doctor/hub-roles.ts';
import { hubRoleArn } from '../../../lambdas/fleet/role-names.ts';

const HUB = '111122223333';
const REGION = 'eu-central-1';
const SWEEP = `arn:aws:iam::${HUB}:role/CertMarshal-sweep-${REGION}`;
const DISPATCH = `arn:aws:iam::${HUB}:role/CertMarshal-dispatch-${REGION}`;
const session = (role: string) => `arn:aws:sts::${HUB}:assumed-role/${role}/session`;

describe('the role of the sweep', () => {
  it.each([
    ['eu-central-1', SWEEP],
    ['cn-north-1', `arn:aws-cn:iam::${HUB}:role/CertMarshal-sweep-cn-north-1`],
    ['eusc-de-east-1', `arn:aws-eusc:iam::${HUB}:role/CertMarshal-sweep-eusc-de-east-1`],
    ['us-gov-west-1', `arn:aws-us-gov:iam::${HUB}:role/CertMarshal-sweep-us-gov-west-1`],
  ])('in %s is %s', (region, arn) => {
    expect(hubRoleArn({ account: HUB, region }, 'sweep')).toBe(arn);
  });

  const known = { account: HUB, region: REGION };
  it.each([
    ['a person, who is told nothing', session('Admin'), {}, undefined, ['SWEEP-ROLE-ARN', false, false, false]],
    ['a person, and fleet.yaml says where the hub is', session('Admin'), known, undefined, [SWEEP, true, false, false]],
    ['a person, who is told', session('Admin'), known, `${SWEEP}-2`, [`${SWEEP}-2`, true, false, false]],
    ['a user', `arn:aws:iam::${HUB}:user/eve`, {}, undefined, ['SWEEP-ROLE-ARN', false, false, false]],
    ['the sweep', session(`CertMarshal-sweep-${REGION}`), {}, undefined, [SWEEP, true, true, true]],
    ['dispatch', session(`CertMarshal-dispatch-${REGION}`), known, undefined, [SWEEP, true, false, true]],
    ['dispatch alone', session(`CertMarshal-dispatch-${REGION}`), {}, undefined, [SWEEP, true, false, true]],
    ['the sweep of another hub', session('CertMarshal-sweep-eu-west-1'), known, undefined, [SWEEP, true, false, false]],
  ])('as %s', (_who, caller, hub, named, [sweepRole, isKnown, weSweep, weAreHub]) => {
    expect(hubRoles(caller, hub, named)).toEqual({ sweepRole, known: isKnown, weSweep, weAreHub });
  });

  it('is named by the ARN of a role', () => {
    for (const arn of [SWEEP, DISPATCH, `arn:aws-cn:iam::${HUB}:role/path/sweep`])
      expect(requireRoleArn(arn)).toBe(arn);
    for (const text of ['', session('x'), `arn:aws:iam::${HUB}:user/x`, `${SWEEP}; reboot`, `${SWEEP}\n`])
      expect(() => requireRoleArn(text)).toThrow('--sweep-role takes the ARN of a role');
  });
});

describe('a remedy at the keyboard', () => {
  const error = { remedy: 'Give the function its role back.' };

  it.each([
    ['expired', 'Sign in to AWS'],
    ['unavailable', 'Check your own network first: whether the name resolves (DNS)'],
    ['denied', 'Give the function'],
  ] as const)('of %s', (kind, expected) => {
    expect(remedyAtTheKeyboard({ ...error, kind }, {})).toContain(expected);
  });

  it('is the clock where the signature is refused, and that of the function in a function', () => {
    const skewed = { kind: 'clock', remedy: 'Set the clock.' } as const;
    expect(remedyAtTheKeyboard(skewed, {})).toBe('Set the clock.');
    expect(remedyAtTheKeyboard({ ...error, kind: 'expired' }, { AWS_LAMBDA_FUNCTION_NAME: 'x' })).toBe(error.remedy);
  });
});
