/** One Region of one account, and the role that reads it. */
export interface AwsScope {
  /** Twelve digits. */
  readonly account: string;
  readonly region: string;
  /** The role to assume there; absent in the account that certmarshal runs in. */
  readonly role?: SpokeRole;
}

export interface SpokeRole {
  readonly arn: string;
  readonly externalId?: string;
  /** Session tags, by key. */
  readonly sessionTags?: Readonly<Record<string, string>>;
}
