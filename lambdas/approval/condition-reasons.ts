/** Reasons of the conditions that certmarshal writes; `kubectl get csr NAME -o yaml` shows them. */
export const CONDITION_REASONS = {
  approve: 'CertMarshalApproved',
  recover: 'CertMarshalRecovered',
  deny: 'CertMarshalDenied',
  approveByPerson: 'CertMarshalApprovedByPerson',
  denyByPerson: 'CertMarshalDeniedByPerson',
} as const;

/** Who approved, for people. @param reason of the condition, which every approver chooses */
export function approverWords(reason: string): string {
  return `approved by ${reason === CONDITION_REASONS.approve ? 'certmarshal' : reason}`;
}
